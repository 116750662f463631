/*
 * Polls that came back empty: of one place in the program they are one record.
 *
 * Called by recorder.c for each of them, and when a call that did something ends the row of polls;
 * by phases.c when the phase changes.
 */
#ifndef GRADER_POLLS_H
#define GRADER_POLLS_H

#include <stdbool.h>
#include <stdint.h>

#include "records.h"

/*
 * Counts a poll in the record of an earlier one like it, or writes a record. is_empty: false where
 * there was nothing to wait for.
 */
void record_idle_poll(const struct entry *entry, struct waited waited, uint64_t begun_ns,
                      bool is_empty);

/* With the lock held: the next empty poll is a record of its own. */
void forget_open_polls(void);

#endif

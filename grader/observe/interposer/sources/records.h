/*
 * One record of the trace memory for each call: writing it, and what is learnt of it later.
 *
 * recorder.c and polls.c write records; wrappers and the table of requests mark what became of
 * them, by their sequence. While nothing is recorded, the sequence is NOT_RECORDED and everything
 * that takes it does nothing.
 */
#ifndef GRADER_RECORDS_H
#define GRADER_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "call_arguments.h"
#include "communicators.h"
#include "layout.h"
#include "python_location.h"
#include "samples.h"

#define NOT_RECORDED UINT64_MAX

/* The sequences that a call waits on; of a longer list the first ones are recorded. */
enum { MAX_WAITED = 256 };
struct waited {
    const uint64_t *sequences;
    size_t number;
};
extern const struct waited NOTHING_WAITED;

/* ---- for wrappers and requests ---- */

/* Makes each of the records name all of them as what it waits for. */
void wait_for_each_other(const uint64_t *sequences, size_t number);

void mark_completed(uint64_t sequence, int error);
/*
 * Does nothing to records that are neither receives nor probes. communicator: the one that the
 * message came over, to name its source in the world.
 */
void mark_matched(uint64_t sequence, const struct communicator *communicator,
                  const MPI_Status *status);
void add_flags(uint64_t sequence, uint32_t flags);

/* ---- for recorder.c and polls.c ---- */

/* What a record says from the start, with what MPI has to be asked for. */
struct entry {
    const struct details *details;
    const struct communicator *communicator;
    int64_t num_bytes;
    struct samples samples;
    struct location location;
    int phase;
};

/* Asks MPI: never with the lock held. */
struct entry entry_of(const struct details *details, struct location location, int phase);

/* With the lock held: writes a record of a call that began at begun_ns; returns its sequence. */
uint64_t write_record(const struct entry *entry, struct waited waited, uint64_t begun_ns);
/* With the lock held: returns the record, or NULL when it has been overwritten. */
struct record *record_of(uint64_t sequence);
/* With the lock held: appends to the list of waits of a record, which has to be the last one. */
void append_waits(struct record *record, struct waited waited);

#endif

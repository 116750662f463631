/*
 * MPI's own counts of the messages that this rank sends, to be compared with the records.
 *
 * Begun by MPI_Init; phases.c has them taken when the phase changes.
 */
#ifndef GRADER_MONITORING_H
#define GRADER_MONITORING_H

#include <stdbool.h>

#include "layout.h"

/*
 * Begins to count into `counters`, one row of MAX_COUNTED_PEERS a phase; NULL where nobody reads
 * them. Returns whether this MPI counts; after MPI_Init.
 */
bool begin_monitoring(int world_size, struct counted (*counters)[MAX_COUNTED_PEERS]);

/* Adds what was sent since the last look to the row of a phase; to none if that is not counted. */
void count_messages(int phase);

#endif

/*
 * Records the calls of this rank.
 *
 * A wrapper of a blocking call does
 *
 *     uint64_t sequence = begin_call(&details, waited);      now the judge sees us inside
 *     int error = real.Something(...);
 *     end_call(sequence, error);
 *
 * and may add in between what it has learnt (mark_completed, mark_matched of records.h). Called by
 * wrappers, and by the table of requests for those that are started.
 */
#ifndef GRADER_RECORDER_H
#define GRADER_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "call_arguments.h"
#include "records.h"

/* Whether a call that this thread makes now would be recorded. */
bool is_recording(void);
/* Whether the judge wants standard sends to wait for their receives. */
bool sends_are_synchronous(void);
/* Whether this rank is the root of a call that would be recorded. */
bool is_own_rank(MPI_Comm comm, int rank);

/* ---- calls ---- */

uint64_t begin_call(const struct details *details, struct waited waited);
void end_call(uint64_t sequence, int error);

/*
 * Some calls are several records: the two halves of a Sendrecv, each request of a Startall.
 * The first is made by begin_call, each other by also_begin right after it, on the same thread,
 * and ended by also_end before the first one's end_call.
 */
uint64_t also_begin(uint64_t first, const struct details *details);
void also_end(uint64_t sequence, int error);

/*
 * Notes that MPI sends a message of its own, for instance for a collective. In a call that we
 * record, or in a poll, this is expected; else a function of MPI was called by another name.
 */
void note_message_of_mpi(void);

/* ---- polls ---- */

enum poll_result {
    POLL_FOUND,   /* something had completed, or a message had come */
    POLL_EMPTY,   /* nothing yet */
    POLL_VACUOUS, /* there was nothing to wait for, such as a Test of MPI_REQUEST_NULL */
};

/*
 * A poll is recorded after it was made, since only its result tells how. Empty polls of one
 * place are one record. begun_ns: what begin_poll returned before the call.
 */
uint64_t begin_poll(void);
/* Ends one that leaves no record. */
void end_poll(void);
uint64_t record_poll(const struct details *details, struct waited waited, uint64_t begun_ns,
                     enum poll_result result, int error);

#endif

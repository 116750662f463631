/*
 * Writes the calls of this rank into the trace memory.
 *
 * A wrapper of a blocking call does
 *
 *     uint64_t sequence = begin_call(&details, waited);      now the judge sees us inside
 *     int error = real.Something(...);
 *     end_call(sequence, error);
 *
 * and may add in between what it has learnt (mark_completed, mark_matched). While nothing is
 * recorded, the sequence is NOT_RECORDED and everything that takes it does nothing.
 */
#ifndef GRADER_RECORDER_H
#define GRADER_RECORDER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout.h"
#include "library.h"

#define NOT_RECORDED UINT64_MAX
#define NO_PEER INT_MIN /* as a details.peer: no MPI library gives that number a meaning */

struct communicator;

/* What a wrapper knows about a call before it makes it, in the caller's own terms. */
struct details {
    uint32_t function; /* NAME_Send and so on, from functions.h */
    uint32_t flags;    /* enum record_flag */
    MPI_Comm comm;
    int peer; /* rank in comm: destination, source or root; NO_PEER */
    int tag;
    int64_t num_elements; /* -1: the call has no count */
    MPI_Datatype datatype;
    const void *sent; /* bytes that leave this rank, looked at for pickles; may be NULL */
    /* Of a message that was matched earlier; overrides comm and peer. */
    const struct communicator *communicator;
    int world_peer;
};

/* A call with none of it. */
struct details plain_call(uint32_t function);

/* A send or receive. sent: the buffer of a send, NULL for a receive. */
struct details message(uint32_t function, uint32_t flags, const void *sent, int count,
                       MPI_Datatype datatype, int peer, int tag, MPI_Comm comm);

/* A call on a communicator that moves no message of its own: a probe, a barrier. */
struct details call_on(uint32_t function, MPI_Comm comm, int peer, int tag);

/* Adds what a collective call moves. */
void set_elements(struct details *details, int64_t count, MPI_Datatype datatype);
bool is_own_rank(MPI_Comm comm, int rank);

/* ---- attaching ---- */

/* Maps the judge's memory, if the environment names one; before MPI_Init is called. */
void attach_memory(void);
/* Tells the judge who we are; after MPI_Init. */
void introduce_rank(void);
/* Stops recording; after MPI_Finalize. */
void retire_rank(void);
/* Whether there is a memory to write to: then requests have to be followed. */
bool is_attached(void);

/* ---- what MPI itself counts ---- */

/* Notes what was sent since the last look, as part of the present phase; before MPI_Finalize. */
void count_sent_messages(void);
/* Leaves out what was sent since the last look: MPI made messages of its own. */
void forget_sent_messages(void);

/* ---- calls ---- */

/* Whether a call that this thread makes now would be recorded. */
bool is_recording(void);
/* Whether the judge wants standard sends to wait for their receives. */
bool sends_are_synchronous(void);
/* The header of the judge's memory, to a thread that is in the student's phase; else NULL. */
struct header *student_header(void);
/* What MPI_Pcontrol sets; false when it is not the harness that asks. */
enum { PHASE_OUTSIDE = 0, PHASE_STUDENT = 1, PHASE_PAUSED = 2 };
bool set_phase(int level);

/* The sequences that a call waits on; of a longer list the first ones are recorded. */
enum { MAX_WAITED = 256 };
struct waited {
    const uint64_t *sequences;
    size_t number;
};
extern const struct waited NOTHING_WAITED;

uint64_t begin_call(const struct details *details, struct waited waited);
void end_call(uint64_t sequence, int error);

/*
 * Some calls are several records: the two halves of a Sendrecv, each request of a Startall.
 * The first is made by begin_call, each other by also_begin right after it, on the same thread,
 * and ended by also_end before the first one's end_call.
 */
uint64_t also_begin(uint64_t first, const struct details *details);
void also_end(uint64_t sequence, int error);
/* Makes each of the records name all of them as what it waits for. */
void wait_for_each_other(const uint64_t *sequences, size_t number);

/* ---- polls ---- */

enum poll_result {
    POLL_FOUND,   /* something had completed, or a message had come */
    POLL_EMPTY,   /* nothing yet */
    POLL_VACUOUS, /* there was nothing to wait for, such as a Test of MPI_REQUEST_NULL */
};

/*
 * A poll is recorded after it was made, since only its result tells how. Empty polls of one
 * place are one record. begun_ns: now_ns() before the call.
 */
uint64_t record_poll(const struct details *details, struct waited waited, uint64_t begun_ns,
                     enum poll_result result, int error);

/* ---- what became of a posted message ---- */

void mark_completed(uint64_t sequence, int error);
/*
 * Does nothing to records that are neither receives nor probes. communicator: the one that the
 * message came over, to name its source in the world.
 */
void mark_matched(uint64_t sequence, const struct communicator *communicator,
                  const MPI_Status *status);
void add_flags(uint64_t sequence, uint32_t flags);

/* ---- for the other files ---- */

uint64_t now_ns(void);
/* malloc that does not return NULL: where memory is out, the rank ends with a message. */
void *allocate(size_t num_bytes);
/* One short lock guards all our tables; never held while MPI or Python runs. */
void lock_tables(void);
void unlock_tables(void);
/* Returns the offset of a name in the trace memory; 0 when there is no room left. */
uint32_t intern_name(const char *name);
/* Returns the name at an offset; the empty one where there is none. */
const char *name_at(uint32_t offset);

#endif

/*
 * What a wrapper knows about a call before it makes it, in the caller's own terms.
 *
 * Made by wrappers, and by the table of requests for those that are started; read by records.c.
 */
#ifndef GRADER_DETAILS_H
#define GRADER_DETAILS_H

#include <stdbool.h>
#include <stdint.h>

#include "communicators.h"
#include "library.h"

struct details {
    uint32_t function; /* NAME_Send and so on, from functions.h */
    uint32_t flags;    /* enum record_flag */
    MPI_Comm comm;
    int peer;             /* rank in comm: destination, source or root; NO_PEER */
    int tag;              /* of a reduction: operation_number */
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

/* Adds what a rank gives in place: a piece of a buffer; begin: in elements. */
void set_piece(struct details *details, const void *buffer, int64_t begin, int64_t count,
               MPI_Datatype datatype);

/* The number of one of MPI's own operations, as layout.py names them; MPI_ANY_TAG for others. */
int operation_number(MPI_Op op);

/* Whether a call sends a pickle, as the lower-case calls of mpi4py do. */
bool sends_pickle(const struct details *details);
/* Returns the size of the message; -1 where the call has none. Asks MPI. */
int64_t num_bytes_of(const struct details *details);

#endif

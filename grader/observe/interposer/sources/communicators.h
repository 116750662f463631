/*
 * What we know of each communicator: a number that all its members agree on, and who they are.
 *
 * Wrappers tell of those that come and go; details, records and requests point to them.
 */
#ifndef GRADER_COMMUNICATORS_H
#define GRADER_COMMUNICATORS_H

#include <limits.h>
#include <stdint.h>

#include "library.h"

#define NO_PEER INT_MIN /* in place of a rank: no MPI library gives that number a meaning */

struct communicator {
    int64_t id;   /* 0 is MPI_COMM_WORLD */
    int size;     /* all processes in it; of an intercommunicator, both sides */
    int own_rank; /* within the communicator */
    int own_world_rank;
    int num_peers; /* those that a rank argument can name: of an intercommunicator, the others */
    int *peers;    /* their world ranks */
};

/* Notes MPI_COMM_WORLD; called once MPI is initialised. */
void know_world(void);

/* Notes a communicator that was just made out of parent (MPI_COMM_NULL: out of none). */
void know_communicator(MPI_Comm made, MPI_Comm parent);
/* The same for a duplicate that is not usable yet. */
void know_duplicate(MPI_Comm made, MPI_Comm parent);
/* Forgets a handle that is about to be freed. */
void forget_communicator(MPI_Comm comm);

/* Never NULL; of MPI_COMM_NULL a communicator with the id TRACE_NO_COMMUNICATOR. */
const struct communicator *communicator_of(MPI_Comm comm);

/* Translates a rank argument, special values included, to what the trace says. */
int world_peer(const struct communicator *communicator, int peer);

#endif

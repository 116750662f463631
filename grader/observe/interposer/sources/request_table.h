/*
 * Finds what we know of an MPI_Request by its handle; for requests.c and completion.c.
 *
 * All functions but the first two want the lock held.
 */
#ifndef GRADER_REQUEST_TABLE_H
#define GRADER_REQUEST_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "call_arguments.h"
#include "communicators.h"

struct request {
    MPI_Request handle;
    const MPI_Request *where; /* the variable it was put in and the thread that did so: they */
    const void *thread;       /* tell apart equal handles */
    uint64_t sequence;        /* NOT_RECORDED while a persistent request is inactive */
    uint64_t send_half;       /* of an exchange, whose sequence is the receive's */
    const struct communicator *communicator;
    bool is_persistent;
    bool is_cancelled;
    struct details details; /* what a persistent request does each time */
    void *copy;             /* what is sent in place of the caller's buffer; NULL for that itself */
    struct request *below;  /* an older request with the same handle */
    struct request *next;   /* another handle in the same bucket */
};

/* Returns a request that is not in the table yet. */
struct request *new_request(void);
/* Puts it in as the newest with its handle. */
void add_request(struct request *request, const MPI_Request *where);

/*
 * Returns the link to a request, at NULL where there is none. Of equal handles, the one that was
 * put in this variable; else the newest of this thread; else the newest. (A Waitall of mpi4py gets
 * copies of the variables.)
 */
struct request **find_request(MPI_Request handle, const MPI_Request *where);
void push_request(struct request *request);
struct request *unlink_request(struct request **link);
/* Keeps it for new_request; it must not be in the table. */
void spare_request(struct request *request);

#endif

/*
 * Which recorded call stands behind each MPI_Request, from its making to its end.
 *
 * Called by wrappers as a request is made, started, cancelled or freed; completion.h has what a
 * wait or test does with it.
 */
#ifndef GRADER_REQUESTS_H
#define GRADER_REQUESTS_H

#include <stdint.h>

#include "call_arguments.h"
#include "communicators.h"

/* ---- when a request is made ---- */

/* where: the variable that MPI has just put the request in. */
void track_request(const MPI_Request *where, uint64_t sequence,
                   const struct communicator *communicator);
/* The same for a send. copy: freed once it is complete; NULL when the caller's buffer is sent. */
void track_send(const MPI_Request *where, uint64_t sequence,
                const struct communicator *communicator, void *copy);
/* The same for a request that carries two messages, as of Isendrecv. */
void track_exchange(const MPI_Request *where, uint64_t send, uint64_t receive,
                    const struct communicator *communicator, void *copy);
/* A request that does nothing until it is started, and may be started again and again. */
void track_persistent(const MPI_Request *where, const struct details *details);
/* The same for a send that is bound to a copy, which persistent_payload has made; or to NULL. */
void track_persistent_send(const MPI_Request *where, const struct details *details, void *copy);

/* ---- afterwards ---- */

/*
 * Begins a record for a persistent request that is about to be started; first is the sequence
 * of the record that the same call has begun before, NOT_RECORDED if there is none.
 */
uint64_t begin_start(const MPI_Request *where, uint32_t function, uint64_t first);
/* The call behind a request, or NOT_RECORDED. */
uint64_t sequence_of_request(const MPI_Request *where);
/* Notes that the caller asked to cancel the request. */
void note_cancel(const MPI_Request *where);
/* Forgets a request that is about to be freed; marks a message that was still under way. */
void note_free(const MPI_Request *where);

#endif

/*
 * Which recorded call stands behind each MPI_Request.
 *
 * A wait or test first takes the requests it was given out of the table, calls MPI, and then
 * settles them: what has completed is marked in its record, what has not is put back. Taking
 * them first matters with threads: once MPI has completed a request, another thread may be
 * given the same handle for a new one.
 */
#ifndef GRADER_REQUESTS_H
#define GRADER_REQUESTS_H

#include "alteration.h"
#include "communicators.h"
#include "recorder.h"

struct request;

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

/* ---- when requests are waited for ---- */

/* The requests of one wait or test. */
struct taken {
    size_t number;
    struct request **requests; /* NULL where we know nothing of the request */
    MPI_Request *handles;      /* as they were before the call */
    struct request *few_requests[16];
    MPI_Request few_handles[16];
    struct waited waited;
    uint64_t sequences[MAX_WAITED];
    bool is_vacuous; /* no request that could complete */
};

/* taken has to stay where it is until it is settled. */
void take_requests(struct taken *taken, int number, const MPI_Request requests[]);
/* Whether the call has completed the request at index, which is now `now`. */
bool has_completed(const struct taken *taken, size_t index, MPI_Request now, int error);
/* Marks the request at index complete, as the status tells. */
void settle(struct taken *taken, size_t index, const MPI_Status *status, int error);
/* Puts back what was not settled, and frees what was allocated. */
void put_back(struct taken *taken);

/* ---- the rest ---- */

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

/* ---- messages that a matched probe has taken out of the queue ---- */

void track_message(MPI_Message message, MPI_Comm comm, const MPI_Status *status);
/* Fills in communicator, world_peer and tag of the message; forgets it. */
void take_message(MPI_Message message, struct details *details);

#endif

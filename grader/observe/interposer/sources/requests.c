/* What is noted of a request, except when it is waited for. */
#include "requests.h"

#include "fault_injection.h"
#include "lock_and_clock.h"
#include "recorder.h"
#include "request_table.h"
#include "trace_memory.h"

void track_request(const MPI_Request *where, uint64_t sequence,
                   const struct communicator *communicator)
{
    track_exchange(where, NOT_RECORDED, sequence, communicator, NULL);
}

void track_send(const MPI_Request *where, uint64_t sequence,
                const struct communicator *communicator, void *copy)
{
    track_exchange(where, NOT_RECORDED, sequence, communicator, copy);
}

void track_exchange(const MPI_Request *where, uint64_t send, uint64_t receive,
                    const struct communicator *communicator, void *copy)
{
    if (receive == NOT_RECORDED || *where == MPI_REQUEST_NULL)
        return;
    struct request *request = new_request();
    request->sequence = receive;
    request->send_half = send;
    request->communicator = communicator;
    request->copy = copy;
    add_request(request, where);
}

void track_persistent(const MPI_Request *where, const struct details *details)
{
    track_persistent_send(where, details, NULL);
}

void track_persistent_send(const MPI_Request *where, const struct details *details, void *copy)
{
    if (!is_attached() || *where == MPI_REQUEST_NULL)
        return;
    struct request *request = new_request();
    request->is_persistent = true;
    request->details = *details;
    request->copy = copy;
    request->communicator = communicator_of(details->comm);
    add_request(request, where);
}

uint64_t begin_start(const MPI_Request *where, uint32_t function, uint64_t first)
{
    lock_tables();
    struct request *request = *find_request(*where, where);
    unlock_tables();
    if (!request || !request->is_persistent)
        return NOT_RECORDED;
    struct details details = request->details;
    details.function = function;
    uint64_t sequence =
        first == NOT_RECORDED ? begin_call(&details, NOTHING_WAITED) : also_begin(first, &details);
    request->sequence = sequence;
    if (details.flags & IS_SEND)
        fill_copy(sequence, &details, request->copy);
    return sequence;
}

uint64_t sequence_of_request(const MPI_Request *where)
{
    lock_tables();
    const struct request *request = *find_request(*where, where);
    uint64_t sequence = request ? request->sequence : NOT_RECORDED;
    unlock_tables();
    return sequence;
}

void note_cancel(const MPI_Request *where)
{
    lock_tables();
    struct request *request = *find_request(*where, where);
    if (request)
        request->is_cancelled = true;
    unlock_tables();
}

void note_free(const MPI_Request *where)
{
    lock_tables();
    struct request **link = find_request(*where, where);
    struct request *request = *link ? unlink_request(link) : NULL;
    unlock_tables();
    if (!request)
        return;
    if (request->sequence != NOT_RECORDED)
        add_flags(request->sequence, REQUEST_FREED); /* its copy, if any, may still be sent from */
    else if (request->is_persistent)
        drop_copy(&request->details, request->copy);
    if (request->send_half != NOT_RECORDED)
        add_flags(request->send_half, REQUEST_FREED);
    lock_tables();
    spare_request(request);
    unlock_tables();
}

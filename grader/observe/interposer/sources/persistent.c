/*
 * Persistent requests: making and starting them.
 *
 * Making one sends nothing: its record is neither a send nor a receive. Each start of it is a
 * record of its own, with everything that was said when it was made.
 */
#include "fault_injection.h"
#include "recorder.h"
#include "requests.h"
#include "trace_memory.h"

static uint64_t begin_init(const struct details *started)
{
    struct details made = *started;
    made.flags = 0;
    made.sent = NULL;
    return begin_call(&made, NOTHING_WAITED);
}

typedef int send_init_function(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static int persistent_send(send_init_function *init, uint32_t function, uint32_t flags,
                           const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                           MPI_Comm comm, MPI_Request *request)
{
    struct details details =
        message(function, IS_SEND | CREATES_REQUEST | flags, buf, count, datatype, dest, tag, comm);
    uint64_t call = begin_init(&details);
    struct payload sent = persistent_payload(&details);
    int error = init(sent.buffer, sent.count, sent.datatype, dest, tag, comm, request);
    if (error == MPI_SUCCESS)
        track_persistent_send(request, &details, sent.copy);
    else
        drop_copy(&details, sent.copy);
    end_call(call, error);
    return error;
}

int MPI_Send_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request *request)
{
    need_library();
    bool waits = sends_are_synchronous();
    return persistent_send(waits ? real.Ssend_init : real.Send_init, NAME_Send_init,
                           waits ? SYNCHRONOUS : 0, buf, count, datatype, dest, tag, comm, request);
}

int MPI_Rsend_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                   MPI_Comm comm, MPI_Request *request)
{
    need_library();
    bool waits = sends_are_synchronous();
    return persistent_send(waits ? real.Ssend_init : real.Rsend_init, NAME_Rsend_init,
                           waits ? SYNCHRONOUS : 0, buf, count, datatype, dest, tag, comm, request);
}

int MPI_Ssend_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                   MPI_Comm comm, MPI_Request *request)
{
    need_library();
    return persistent_send(real.Ssend_init, NAME_Ssend_init, SYNCHRONOUS, buf, count, datatype,
                           dest, tag, comm, request);
}

int MPI_Bsend_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                   MPI_Comm comm, MPI_Request *request)
{
    need_library();
    return persistent_send(real.Bsend_init, NAME_Bsend_init, 0, buf, count, datatype, dest, tag,
                           comm, request);
}

int MPI_Recv_init(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                  MPI_Request *request)
{
    struct details details = message(NAME_Recv_init, IS_RECEIVE | CREATES_REQUEST, NULL, count,
                                     datatype, source, tag, comm);
    uint64_t call = begin_init(&details);
    int error = real.Recv_init(buf, count, datatype, source, tag, comm, request);
    if (error == MPI_SUCCESS)
        track_persistent(request, &details);
    end_call(call, error);
    return error;
}

int MPI_Start(MPI_Request *request)
{
    if (!is_attached())
        return real.Start(request);
    uint64_t call = begin_start(request, NAME_Start, NOT_RECORDED);
    int error = real.Start(request);
    end_call(call, error);
    return error;
}

int MPI_Startall(int count, MPI_Request requests[])
{
    if (!is_attached())
        return real.Startall(count, requests);
    uint64_t first = NOT_RECORDED;
    for (int i = 0; i < count; i++) {
        uint64_t call = begin_start(&requests[i], NAME_Startall, first);
        if (first == NOT_RECORDED)
            first = call;
    }
    int error = real.Startall(count, requests);
    for (int i = 0; i < count; i++)
        also_end(sequence_of_request(&requests[i]), error);
    end_call(first, error);
    return error;
}

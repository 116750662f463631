/* Sends and receives, blocking and not; those in one call are in sendrecv.c. */
#include <stdlib.h>

#include "communicators.h"
#include "fault_injection.h"
#include "recorder.h"
#include "requests.h"

/* ---- blocking sends and receives ---- */

typedef int send_function(const void *, int, MPI_Datatype, int, int, MPI_Comm);

static int blocking_send(send_function *send, uint32_t function, uint32_t flags, const void *buf,
                         int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    struct details details =
        message(function, IS_SEND | flags, buf, count, datatype, dest, tag, comm);
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    struct payload sent = payload_of(call, buf, count, datatype, comm);
    int error = send(sent.buffer, sent.count, sent.datatype, dest, tag, comm);
    if (error == MPI_SUCCESS)
        mark_completed(call, error);
    free(sent.copy);
    end_call(call, error);
    return error;
}

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    need_library();
    bool waits = sends_are_synchronous();
    return blocking_send(waits ? real.Ssend : real.Send, NAME_Send, waits ? SYNCHRONOUS : 0, buf,
                         count, datatype, dest, tag, comm);
}

int MPI_Rsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    need_library();
    bool waits = sends_are_synchronous();
    return blocking_send(waits ? real.Ssend : real.Rsend, NAME_Rsend, waits ? SYNCHRONOUS : 0, buf,
                         count, datatype, dest, tag, comm);
}

int MPI_Ssend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    need_library();
    return blocking_send(real.Ssend, NAME_Ssend, SYNCHRONOUS, buf, count, datatype, dest, tag,
                         comm);
}

int MPI_Bsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    need_library();
    return blocking_send(real.Bsend, NAME_Bsend, 0, buf, count, datatype, dest, tag, comm);
}

int MPI_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
             MPI_Status *status)
{
    MPI_Status own;
    struct details details =
        message(NAME_Recv, IS_RECEIVE, NULL, count, datatype, source, tag, comm);
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    if (call != NOT_RECORDED && status == MPI_STATUS_IGNORE)
        status = &own;
    int error = real.Recv(buf, count, datatype, source, tag, comm, status);
    if (call != NOT_RECORDED && error == MPI_SUCCESS) {
        mark_matched(call, communicator_of(comm), status);
        mark_completed(call, error);
    }
    end_call(call, error);
    return error;
}

/* ---- non-blocking sends and receives ---- */

typedef int isend_function(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static int nonblocking_send(isend_function *send, uint32_t function, uint32_t flags,
                            const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                            MPI_Comm comm, MPI_Request *request)
{
    struct details details =
        message(function, IS_SEND | CREATES_REQUEST | flags, buf, count, datatype, dest, tag, comm);
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    struct payload sent = payload_of(call, buf, count, datatype, comm);
    int error = send(sent.buffer, sent.count, sent.datatype, dest, tag, comm, request);
    if (error == MPI_SUCCESS)
        track_send(request, call, communicator_of(comm), sent.copy);
    else
        free(sent.copy);
    end_call(call, error);
    return error;
}

int MPI_Isend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    need_library();
    bool waits = sends_are_synchronous();
    return nonblocking_send(waits ? real.Issend : real.Isend, NAME_Isend, waits ? SYNCHRONOUS : 0,
                            buf, count, datatype, dest, tag, comm, request);
}

int MPI_Irsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request *request)
{
    need_library();
    bool waits = sends_are_synchronous();
    return nonblocking_send(waits ? real.Issend : real.Irsend, NAME_Irsend, waits ? SYNCHRONOUS : 0,
                            buf, count, datatype, dest, tag, comm, request);
}

int MPI_Issend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request *request)
{
    need_library();
    return nonblocking_send(real.Issend, NAME_Issend, SYNCHRONOUS, buf, count, datatype, dest, tag,
                            comm, request);
}

int MPI_Ibsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request *request)
{
    need_library();
    return nonblocking_send(real.Ibsend, NAME_Ibsend, 0, buf, count, datatype, dest, tag, comm,
                            request);
}

int MPI_Irecv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    struct details details =
        message(NAME_Irecv, IS_RECEIVE | CREATES_REQUEST, NULL, count, datatype, source, tag, comm);
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    int error = real.Irecv(buf, count, datatype, source, tag, comm, request);
    if (error == MPI_SUCCESS)
        track_request(request, call, communicator_of(comm));
    end_call(call, error);
    return error;
}

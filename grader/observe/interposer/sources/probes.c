/* Probes, and receives of what they found. */
#include "communicators.h"
#include "matched_messages.h"
#include "recorder.h"
#include "requests.h"
#include "trace_memory.h"

static struct details probe_of(uint32_t function, int source, int tag, MPI_Comm comm)
{
    struct details details = call_on(function, comm, source, tag);
    details.flags = IS_PROBE;
    return details;
}

int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Status own;
    struct details details = probe_of(NAME_Probe, source, tag, comm);
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    if (call != NOT_RECORDED && status == MPI_STATUS_IGNORE)
        status = &own;
    int error = real.Probe(source, tag, comm, status);
    if (call != NOT_RECORDED && error == MPI_SUCCESS)
        mark_matched(call, communicator_of(comm), status);
    end_call(call, error);
    return error;
}

int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    MPI_Status own;
    struct details details = probe_of(NAME_Mprobe, source, tag, comm);
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    if (call != NOT_RECORDED && status == MPI_STATUS_IGNORE)
        status = &own;
    int error = real.Mprobe(source, tag, comm, message, status);
    if (call != NOT_RECORDED && error == MPI_SUCCESS) {
        mark_matched(call, communicator_of(comm), status);
        track_message(*message, comm, status);
    }
    end_call(call, error);
    return error;
}

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    MPI_Status own;
    struct details details = probe_of(NAME_Iprobe, source, tag, comm);
    if (!is_recording())
        return real.Iprobe(source, tag, comm, flag, status);
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    uint64_t begun_ns = begin_poll();
    int error = real.Iprobe(source, tag, comm, flag, status);
    bool is_found = error == MPI_SUCCESS && *flag;
    uint64_t call =
        record_poll(&details, NOTHING_WAITED, begun_ns, is_found ? POLL_FOUND : POLL_EMPTY, error);
    if (is_found)
        mark_matched(call, communicator_of(comm), status);
    return error;
}

int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                MPI_Status *status)
{
    MPI_Status own;
    struct details details = probe_of(NAME_Improbe, source, tag, comm);
    if (!is_recording())
        return real.Improbe(source, tag, comm, flag, message, status);
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    uint64_t begun_ns = begin_poll();
    int error = real.Improbe(source, tag, comm, flag, message, status);
    bool is_found = error == MPI_SUCCESS && *flag;
    uint64_t call =
        record_poll(&details, NOTHING_WAITED, begun_ns, is_found ? POLL_FOUND : POLL_EMPTY, error);
    if (is_found) {
        mark_matched(call, communicator_of(comm), status);
        track_message(*message, comm, status);
    }
    return error;
}

int MPI_Mrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message_,
              MPI_Status *status)
{
    need_library();
    MPI_Status own;
    struct details details =
        message(NAME_Mrecv, IS_RECEIVE, NULL, count, datatype, NO_PEER, MPI_ANY_TAG, MPI_COMM_NULL);
    if (is_attached())
        take_message(*message_, &details);
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    if (call != NOT_RECORDED && status == MPI_STATUS_IGNORE)
        status = &own;
    int error = real.Mrecv(buf, count, datatype, message_, status);
    if (call != NOT_RECORDED && error == MPI_SUCCESS) {
        mark_matched(call, details.communicator, status);
        mark_completed(call, error);
    }
    end_call(call, error);
    return error;
}

int MPI_Imrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message_,
               MPI_Request *request)
{
    need_library();
    struct details details = message(NAME_Imrecv, IS_RECEIVE | CREATES_REQUEST, NULL, count,
                                     datatype, NO_PEER, MPI_ANY_TAG, MPI_COMM_NULL);
    if (is_attached())
        take_message(*message_, &details);
    uint64_t call = begin_call(&details, NOTHING_WAITED);
    int error = real.Imrecv(buf, count, datatype, message_, request);
    if (error == MPI_SUCCESS)
        track_request(request, call, details.communicator);
    end_call(call, error);
    return error;
}

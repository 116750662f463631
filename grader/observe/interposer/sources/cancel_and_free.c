/* Requests that are given up. */
#include "recorder.h"
#include "requests.h"
#include "trace_memory.h"

int MPI_Cancel(MPI_Request *request)
{
    if (!is_attached())
        return real.Cancel(request);
    uint64_t sequence = sequence_of_request(request);
    struct waited waited = {&sequence, sequence == NOT_RECORDED ? 0 : 1};
    struct details details = plain_call(NAME_Cancel);
    uint64_t call = begin_call(&details, waited);
    note_cancel(request);
    int error = real.Cancel(request);
    end_call(call, error);
    return error;
}

int MPI_Request_free(MPI_Request *request)
{
    if (!is_attached())
        return real.Request_free(request);
    uint64_t sequence = sequence_of_request(request);
    struct waited waited = {&sequence, sequence == NOT_RECORDED ? 0 : 1};
    struct details details = plain_call(NAME_Request_free);
    uint64_t call = begin_call(&details, waited);
    note_free(request);
    int error = real.Request_free(request);
    end_call(call, error);
    return error;
}

/* Polls for completion: MPI_Test and its like, each recorded once its result is known. */
#include <stdlib.h>

#include "completion.h"
#include "recorder.h"
#include "requests.h"
#include "trace_memory.h"

static void record_test(uint32_t function, const struct taken *taken, uint64_t begun_ns,
                        bool is_found, int error)
{
    struct details details = plain_call(function);
    enum poll_result result = !is_found           ? POLL_EMPTY
                              : taken->is_vacuous ? POLL_VACUOUS
                                                  : POLL_FOUND;
    record_poll(&details, taken->waited, begun_ns, result, error);
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    if (!is_attached())
        return real.Test(request, flag, status);
    MPI_Status own;
    struct taken taken;
    take_requests(&taken, 1, request);
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    uint64_t begun_ns = begin_poll();
    int error = real.Test(request, flag, status);
    record_test(NAME_Test, &taken, begun_ns, *flag, error);
    if (*flag && has_completed(&taken, 0, *request, error))
        settle(&taken, 0, status, error);
    put_back(&taken);
    return error;
}

int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    if (!is_attached())
        return real.Testall(count, requests, flag, statuses);
    struct statuses ours;
    struct taken taken;
    take_requests(&taken, count, requests);
    MPI_Status *array = statuses_for(&ours, count, statuses);
    uint64_t begun_ns = begin_poll();
    int error = real.Testall(count, requests, flag, array);
    record_test(NAME_Testall, &taken, begun_ns, *flag, error);
    for (int i = 0; i < count && *flag; i++)
        if (has_completed(&taken, (size_t)i, requests[i], error))
            settle(&taken, (size_t)i, &array[i], error == MPI_SUCCESS ? error : array[i].MPI_ERROR);
    put_back(&taken);
    free(ours.allocated);
    return error;
}

int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    if (!is_attached())
        return real.Testany(count, requests, index, flag, status);
    MPI_Status own;
    struct taken taken;
    take_requests(&taken, count, requests);
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    uint64_t begun_ns = begin_poll();
    int error = real.Testany(count, requests, index, flag, status);
    record_test(NAME_Testany, &taken, begun_ns, *flag, error);
    if (*flag && *index >= 0 && *index < count)
        settle(&taken, (size_t)*index, status, error);
    put_back(&taken);
    return error;
}

int MPI_Testsome(int incount, MPI_Request requests[], int *outcount, int indices[],
                 MPI_Status statuses[])
{
    if (!is_attached())
        return real.Testsome(incount, requests, outcount, indices, statuses);
    struct statuses ours;
    struct taken taken;
    take_requests(&taken, incount, requests);
    MPI_Status *array = statuses_for(&ours, incount, statuses);
    uint64_t begun_ns = begin_poll();
    int error = real.Testsome(incount, requests, outcount, indices, array);
    /* MPI_UNDEFINED says that there was no active request at all. */
    record_test(NAME_Testsome, &taken, begun_ns, *outcount != 0, error);
    settle_some(&taken, *outcount, indices, array, error);
    put_back(&taken);
    free(ours.allocated);
    return error;
}

/* Looks without completing: the request stays as it is, so whatever it says is a poll. */
int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    if (!is_recording())
        return real.Request_get_status(request, flag, status);
    uint64_t sequence = sequence_of_request(&request);
    struct waited waited = {&sequence, sequence == NOT_RECORDED ? 0 : 1};
    struct details details = plain_call(NAME_Request_get_status);
    uint64_t begun_ns = begin_poll();
    int error = real.Request_get_status(request, flag, status);
    record_poll(&details, waited, begun_ns, *flag ? POLL_VACUOUS : POLL_EMPTY, error);
    return error;
}

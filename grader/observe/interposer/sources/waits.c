/*
 * Blocking completion: MPI_Wait and its like.
 *
 * While recording is paused the requests are still followed (a message posted in the student's
 * phase may be waited for outside of it); only the waits themselves leave no record then.
 */
#include <stdlib.h>

#include "completion.h"
#include "recorder.h"
#include "trace_memory.h"

static uint64_t begin_wait(uint32_t function, const struct taken *taken)
{
    struct details details = plain_call(function);
    return begin_call(&details, taken->waited);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    if (!is_attached())
        return real.Wait(request, status);
    MPI_Status own;
    struct taken taken;
    take_requests(&taken, 1, request);
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    uint64_t call = begin_wait(NAME_Wait, &taken);
    int error = real.Wait(request, status);
    if (has_completed(&taken, 0, *request, error))
        settle(&taken, 0, status, error);
    put_back(&taken);
    end_call(call, error);
    return error;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    if (!is_attached())
        return real.Waitall(count, requests, statuses);
    struct statuses ours;
    struct taken taken;
    take_requests(&taken, count, requests);
    MPI_Status *array = statuses_for(&ours, count, statuses);
    uint64_t call = begin_wait(NAME_Waitall, &taken);
    int error = real.Waitall(count, requests, array);
    for (int i = 0; i < count; i++)
        if (has_completed(&taken, (size_t)i, requests[i], error))
            settle(&taken, (size_t)i, &array[i], error == MPI_SUCCESS ? error : array[i].MPI_ERROR);
    put_back(&taken);
    free(ours.allocated);
    end_call(call, error);
    return error;
}

int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    if (!is_attached())
        return real.Waitany(count, requests, index, status);
    MPI_Status own;
    struct taken taken;
    take_requests(&taken, count, requests);
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    uint64_t call = begin_wait(NAME_Waitany, &taken);
    *index = MPI_UNDEFINED; /* what a failing call may leave unset */
    int error = real.Waitany(count, requests, index, status);
    if (*index >= 0 && *index < count)
        settle(&taken, (size_t)*index, status, error);
    put_back(&taken);
    end_call(call, error);
    return error;
}

int MPI_Waitsome(int incount, MPI_Request requests[], int *outcount, int indices[],
                 MPI_Status statuses[])
{
    if (!is_attached())
        return real.Waitsome(incount, requests, outcount, indices, statuses);
    struct statuses ours;
    struct taken taken;
    take_requests(&taken, incount, requests);
    MPI_Status *array = statuses_for(&ours, incount, statuses);
    uint64_t call = begin_wait(NAME_Waitsome, &taken);
    *outcount = MPI_UNDEFINED;
    int error = real.Waitsome(incount, requests, outcount, indices, array);
    settle_some(&taken, *outcount, indices, array, error);
    put_back(&taken);
    free(ours.allocated);
    end_call(call, error);
    return error;
}

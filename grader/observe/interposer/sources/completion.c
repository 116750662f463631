/* Takes requests out of the table, marks their records, and puts the others back. */
#include "completion.h"

#include <stdlib.h>

#include "lock_and_clock.h"
#include "request_table.h"

static void list_sequence(struct taken *taken, uint64_t sequence)
{
    if (sequence != NOT_RECORDED && taken->waited.number < MAX_WAITED)
        taken->sequences[taken->waited.number++] = sequence;
}

void take_requests(struct taken *taken, int number, const MPI_Request requests[])
{
    size_t few = sizeof taken->few_requests / sizeof *taken->few_requests;
    taken->number = number > 0 && requests ? (size_t)number : 0;
    taken->requests = taken->few_requests;
    taken->handles = taken->few_handles;
    if (taken->number > few) {
        taken->requests = allocate(taken->number * sizeof *taken->requests);
        taken->handles = allocate(taken->number * sizeof *taken->handles);
    }
    taken->waited.sequences = taken->sequences;
    taken->waited.number = 0;
    taken->is_vacuous = true;
    lock_tables();
    /* From the last to the first, so that equal handles keep the order in which they were made. */
    for (size_t i = taken->number; i-- > 0;) {
        taken->handles[i] = requests[i];
        taken->requests[i] = NULL;
        if (requests[i] == MPI_REQUEST_NULL)
            continue;
        struct request **link = find_request(requests[i], &requests[i]);
        if (*link)
            taken->requests[i] = unlink_request(link);
    }
    unlock_tables();
    for (size_t i = 0; i < taken->number; i++) {
        const struct request *request = taken->requests[i];
        if (request && request->sequence != NOT_RECORDED) {
            taken->is_vacuous = false;
            list_sequence(taken, request->send_half);
            list_sequence(taken, request->sequence);
        }
    }
}

bool has_completed(const struct taken *taken, size_t index, MPI_Request now, int error)
{
    return error == MPI_SUCCESS || (now == MPI_REQUEST_NULL && taken->handles[index] != now);
}

void settle(struct taken *taken, size_t index, const MPI_Status *status, int error)
{
    struct request *request = index < taken->number ? taken->requests[index] : NULL;
    if (!request || request->sequence == NOT_RECORDED)
        return;
    int was_cancelled = 0;
    if (request->is_cancelled)
        real.Test_cancelled(status, &was_cancelled);
    if (was_cancelled) {
        add_flags(request->sequence, CANCELLED);
    } else {
        if (error == MPI_SUCCESS)
            mark_matched(request->sequence, request->communicator, status);
        mark_completed(request->sequence, error);
        mark_completed(request->send_half, error);
    }
    request->sequence = NOT_RECORDED;
    request->is_cancelled = false;
}

void settle_some(struct taken *taken, int num_done, const int indices[], const MPI_Status array[],
                 int error)
{
    for (int i = 0; i < num_done; i++)
        if (indices[i] >= 0)
            settle(taken, (size_t)indices[i], &array[i],
                   error == MPI_SUCCESS ? error : array[i].MPI_ERROR);
}

void put_back(struct taken *taken)
{
    lock_tables();
    for (size_t i = 0; i < taken->number; i++) {
        struct request *request = taken->requests[i];
        if (!request)
            continue;
        if (request->sequence != NOT_RECORDED || request->is_persistent) {
            push_request(request);
        } else {
            free(request->copy);
            spare_request(request);
        }
    }
    unlock_tables();
    if (taken->requests != taken->few_requests) {
        free(taken->requests);
        free(taken->handles);
    }
}

MPI_Status *statuses_for(struct statuses *ours, int number, MPI_Status *callers)
{
    ours->allocated = NULL;
    ours->array = callers;
    if (callers == MPI_STATUSES_IGNORE && number >= 0) {
        ours->array = ours->few;
        if ((size_t)number > sizeof ours->few / sizeof *ours->few)
            ours->array = ours->allocated = allocate((size_t)number * sizeof *ours->array);
    }
    return ours->array;
}

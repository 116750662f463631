/*
 * Completion: waits and tests, persistent requests, and requests that are given up.
 *
 * While recording is paused the requests are still followed (a message posted in the student's
 * phase may be waited for outside of it); only the waits themselves leave no record then.
 */
#include <stdlib.h>

#include "alteration.h"
#include "communicators.h"
#include "recorder.h"
#include "requests.h"

/* A place for statuses that the caller does not want and we do. */
struct statuses {
    MPI_Status *array;
    MPI_Status few[16];
    MPI_Status *allocated;
};

static MPI_Status *statuses_for(struct statuses *ours, int number, MPI_Status *callers)
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

/* ---- blocking ---- */

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
            settle(&taken, (size_t)i, &array[i],
                   error == MPI_SUCCESS ? error : array[i].MPI_ERROR);
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

/* Settles what Waitsome and Testsome found; array holds one status for each index. */
static void settle_some(struct taken *taken, int num_done, const int indices[],
                        const MPI_Status array[], int error)
{
    for (int i = 0; i < num_done; i++)
        if (indices[i] >= 0)
            settle(taken, (size_t)indices[i], &array[i],
                   error == MPI_SUCCESS ? error : array[i].MPI_ERROR);
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

/* ---- polling ---- */

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
    uint64_t begun_ns = now_ns();
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
    uint64_t begun_ns = now_ns();
    int error = real.Testall(count, requests, flag, array);
    record_test(NAME_Testall, &taken, begun_ns, *flag, error);
    for (int i = 0; i < count && *flag; i++)
        if (has_completed(&taken, (size_t)i, requests[i], error))
            settle(&taken, (size_t)i, &array[i],
                   error == MPI_SUCCESS ? error : array[i].MPI_ERROR);
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
    uint64_t begun_ns = now_ns();
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
    uint64_t begun_ns = now_ns();
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
    uint64_t begun_ns = now_ns();
    int error = real.Request_get_status(request, flag, status);
    record_poll(&details, waited, begun_ns, *flag ? POLL_VACUOUS : POLL_EMPTY, error);
    return error;
}

/* ---- persistent requests ---- */

/*
 * Making one sends nothing: its record is neither a send nor a receive. Each start of it is a
 * record of its own, with everything that was said when it was made.
 */
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
    struct details details = message(function, IS_SEND | CREATES_REQUEST | flags, buf, count,
                                     datatype, dest, tag, comm);
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
                           waits ? SYNCHRONOUS : 0, buf, count, datatype, dest, tag, comm,
                           request);
}

int MPI_Rsend_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                   MPI_Comm comm, MPI_Request *request)
{
    need_library();
    bool waits = sends_are_synchronous();
    return persistent_send(waits ? real.Ssend_init : real.Rsend_init, NAME_Rsend_init,
                           waits ? SYNCHRONOUS : 0, buf, count, datatype, dest, tag, comm,
                           request);
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

/* ---- requests that are given up ---- */

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

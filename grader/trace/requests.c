/* The table of requests, and the short list of matched messages. */
#include "requests.h"

#include <stdlib.h>
#include <string.h>

struct request {
    MPI_Request handle;
    const MPI_Request *where; /* the variable it was put in and the thread that did so: they */
    const void *thread;       /* tell apart equal handles */
    uint64_t sequence;        /* NOT_RECORDED while a persistent request is inactive */
    uint64_t send_half;       /* of an exchange, whose sequence is the receive's */
    const struct communicator *communicator;
    bool is_persistent;
    bool is_cancelled;
    struct details details; /* what a persistent request does each time */
    void *copy;             /* what is sent in place of the caller's buffer; NULL for that itself */
    struct request *below;  /* an older request with the same handle */
    struct request *next;   /* another handle in the same bucket */
};

/*
 * Handles are not unique: Open MPI gives every small send that went out at once the same one.
 * So each bucket chains distinct handles, and each of those is the top of a pile of equal ones.
 */
enum { NUM_BUCKETS = 1 << 12, PILE_DEPTH = 64 };
static struct request *buckets[NUM_BUCKETS];
static struct request *spare;

static struct request **bucket_of(MPI_Request handle)
{
    uint64_t key = (uint64_t)(uintptr_t)handle >> 4;
    return &buckets[(key * 0x9E3779B97F4A7C15u) >> 52];
}

static struct request **find_pile(MPI_Request handle)
{
    struct request **link = bucket_of(handle);
    while (*link && (*link)->handle != handle)
        link = &(*link)->next;
    return link;
}

static _Thread_local char this_thread; /* only its address matters */

/*
 * Of equal handles, the one that was put in this variable; else the newest of this thread; else
 * the newest. (A Waitall of mpi4py gets copies of the variables.)
 */
static struct request **find(MPI_Request handle, const MPI_Request *where)
{
    struct request **newest = find_pile(handle);
    struct request **newest_of_thread = NULL;
    struct request **link = newest;
    for (int depth = 0; *link && depth < PILE_DEPTH; depth++, link = &(*link)->below) {
        if ((*link)->where == where)
            return link;
        if (!newest_of_thread && (*link)->thread == &this_thread)
            newest_of_thread = link;
    }
    return newest_of_thread ? newest_of_thread : newest;
}

static void push(struct request *request)
{
    struct request **top = find_pile(request->handle);
    request->below = *top;
    request->next = *top ? (*top)->next : NULL;
    *top = request;
}

static struct request *unlink_request(struct request **link)
{
    struct request *request = *link;
    struct request *below = request->below;
    struct request **top = find_pile(request->handle);
    if (link == top && below)
        below->next = request->next; /* the next one of the pile becomes its top */
    *link = link == top && !below ? request->next : below;
    return request;
}

static struct request *new_request(void)
{
    lock_tables();
    struct request *request = spare;
    if (request)
        spare = request->next;
    unlock_tables();
    if (!request)
        request = allocate(sizeof *request);
    memset(request, 0, sizeof *request);
    request->sequence = request->send_half = NOT_RECORDED;
    return request;
}

static void add(struct request *request, const MPI_Request *where)
{
    request->handle = *where;
    request->where = where;
    request->thread = &this_thread;
    lock_tables();
    push(request);
    unlock_tables();
}

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
    add(request, where);
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
    add(request, where);
}

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
        struct request **link = find(requests[i], &requests[i]);
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

void put_back(struct taken *taken)
{
    lock_tables();
    for (size_t i = 0; i < taken->number; i++) {
        struct request *request = taken->requests[i];
        if (!request)
            continue;
        if (request->sequence != NOT_RECORDED || request->is_persistent) {
            push(request);
        } else {
            free(request->copy);
            request->next = spare;
            spare = request;
        }
    }
    unlock_tables();
    if (taken->requests != taken->few_requests) {
        free(taken->requests);
        free(taken->handles);
    }
}

uint64_t begin_start(const MPI_Request *where, uint32_t function, uint64_t first)
{
    lock_tables();
    struct request *request = *find(*where, where);
    unlock_tables();
    if (!request || !request->is_persistent)
        return NOT_RECORDED;
    struct details details = request->details;
    details.function = function;
    uint64_t sequence = first == NOT_RECORDED ? begin_call(&details, NOTHING_WAITED)
                                              : also_begin(first, &details);
    request->sequence = sequence;
    if (details.flags & IS_SEND)
        fill_copy(sequence, &details, request->copy);
    return sequence;
}

uint64_t sequence_of_request(const MPI_Request *where)
{
    lock_tables();
    const struct request *request = *find(*where, where);
    uint64_t sequence = request ? request->sequence : NOT_RECORDED;
    unlock_tables();
    return sequence;
}

void note_cancel(const MPI_Request *where)
{
    lock_tables();
    struct request *request = *find(*where, where);
    if (request)
        request->is_cancelled = true;
    unlock_tables();
}

void note_free(const MPI_Request *where)
{
    lock_tables();
    struct request **link = find(*where, where);
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
    request->next = spare;
    spare = request;
    unlock_tables();
}

struct matched_message {
    MPI_Message handle;
    const struct communicator *communicator;
    int world_peer;
    int tag;
    struct matched_message *next;
};
static struct matched_message *matched_messages;

void track_message(MPI_Message message, MPI_Comm comm, const MPI_Status *status)
{
    struct matched_message *matched = allocate(sizeof *matched);
    matched->handle = message;
    matched->communicator = communicator_of(comm);
    matched->world_peer = world_peer(matched->communicator, status->MPI_SOURCE);
    matched->tag = status->MPI_TAG;
    lock_tables();
    matched->next = matched_messages;
    matched_messages = matched;
    unlock_tables();
}

void take_message(MPI_Message message, struct details *details)
{
    lock_tables();
    struct matched_message **link = &matched_messages;
    while (*link && (*link)->handle != message)
        link = &(*link)->next;
    struct matched_message *matched = *link;
    if (matched)
        *link = matched->next;
    unlock_tables();
    details->communicator = communicator_of(MPI_COMM_NULL);
    details->world_peer = TRACE_NO_PEER;
    if (!matched)
        return;
    details->communicator = matched->communicator;
    details->world_peer = matched->world_peer;
    details->tag = matched->tag;
    free(matched);
}

/*
 * The table of requests.
 *
 * Handles are not unique: Open MPI gives every small send that went out at once the same one.
 * So each bucket chains distinct handles, and each of those is the top of a pile of equal ones.
 */
#include "request_table.h"

#include <string.h>

#include "lock_and_clock.h"
#include "records.h"

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

struct request **find_request(MPI_Request handle, const MPI_Request *where)
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

void push_request(struct request *request)
{
    struct request **top = find_pile(request->handle);
    request->below = *top;
    request->next = *top ? (*top)->next : NULL;
    *top = request;
}

struct request *unlink_request(struct request **link)
{
    struct request *request = *link;
    struct request *below = request->below;
    struct request **top = find_pile(request->handle);
    if (link == top && below)
        below->next = request->next; /* the next one of the pile becomes its top */
    *link = link == top && !below ? request->next : below;
    return request;
}

struct request *new_request(void)
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

void add_request(struct request *request, const MPI_Request *where)
{
    request->handle = *where;
    request->where = where;
    request->thread = &this_thread;
    lock_tables();
    push_request(request);
    unlock_tables();
}

void spare_request(struct request *request)
{
    request->next = spare;
    spare = request;
}

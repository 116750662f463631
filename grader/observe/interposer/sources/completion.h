/*
 * From a wait or test to the records of the requests that it has completed.
 *
 * A wait or test first takes the requests it was given out of the table, calls MPI, and then
 * settles them: what has completed is marked in its record, what has not is put back. Taking
 * them first matters with threads: once MPI has completed a request, another thread may be
 * given the same handle for a new one. Called by waits.c and tests.c.
 */
#ifndef GRADER_COMPLETION_H
#define GRADER_COMPLETION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "library.h"
#include "records.h"

struct request;

/* The requests of one wait or test. */
struct taken {
    size_t number;
    struct request **requests; /* NULL where we know nothing of the request */
    MPI_Request *handles;      /* as they were before the call */
    struct request *few_requests[16];
    MPI_Request few_handles[16];
    struct waited waited;
    uint64_t sequences[MAX_WAITED];
    bool is_vacuous; /* no request that could complete */
};

/* taken has to stay where it is until it is settled. */
void take_requests(struct taken *taken, int number, const MPI_Request requests[]);
/* Whether the call has completed the request at index, which is now `now`. */
bool has_completed(const struct taken *taken, size_t index, MPI_Request now, int error);
/* Marks the request at index complete, as the status tells. */
void settle(struct taken *taken, size_t index, const MPI_Status *status, int error);
/* Settles what Waitsome and Testsome found; array holds one status for each index. */
void settle_some(struct taken *taken, int num_done, const int indices[], const MPI_Status array[],
                 int error);
/* Puts back what was not settled, and frees what was allocated. */
void put_back(struct taken *taken);

/* A place for statuses that the caller does not want and we do. */
struct statuses {
    MPI_Status *array;
    MPI_Status few[16];
    MPI_Status *allocated; /* to be freed; NULL where the others are enough */
};

/* Returns the caller's own array, or ours where that is MPI_STATUSES_IGNORE. */
MPI_Status *statuses_for(struct statuses *ours, int number, MPI_Status *callers);

#endif

/*
 * A few numbers of what a send carries, so that the judge sees what ranks tell each other.
 *
 * Taken of the caller's buffer as the call begins: records.c writes them into its record.
 */
#ifndef GRADER_SAMPLES_H
#define GRADER_SAMPLES_H

#include <stdint.h>

#include "call_arguments.h"

struct samples {
    int64_t num_bytes; /* of the numbers that they were taken from; 0: there are none */
    uint64_t first;
    uint64_t middle;
    uint64_t last;
};

/* num_bytes: of the message. Asks MPI. Takes none of calls that send no message. */
struct samples samples_of(const struct details *details, int64_t num_bytes);

#endif

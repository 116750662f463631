/*
 * A few numbers of what a rank sends or gives to a collective, for the judge to look at.
 *
 * Taken of the caller's buffer as the call begins: records.c writes them into its record.
 */
#ifndef GRADER_SAMPLES_H
#define GRADER_SAMPLES_H

#include <stdint.h>

#include "call_arguments.h"

struct samples {
    /* Of the numbers, without zeros at their ends; 0: there are none; -1: in a code not read here.
     */
    int64_t num_bytes;
    uint64_t first;
    uint64_t middle;
    uint64_t last;
};

/* A number that no program can know before: nonce is the judge's word for this rank. */
uint64_t drawn(uint64_t nonce, uint64_t number);

/* num_bytes: of the message. Asks MPI. Takes none of calls by which a rank gives nothing. */
struct samples samples_of(const struct details *details, int64_t num_bytes);

#endif

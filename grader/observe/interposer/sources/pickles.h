/*
 * Finds the numbers in a pickle, which is how mpi4py's lower-case calls send objects.
 *
 * Called by call_arguments.c, which looks for pickles, and by datatype_elements.c, which changes
 * them.
 */
#ifndef GRADER_PICKLES_H
#define GRADER_PICKLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whether these bytes are a pickle of protocol 2 to 5: it begins with its version and ends with a
 * full stop.
 */
bool is_pickle(const void *bytes, int64_t num_bytes);

/* Where the numbers of a pickle lie, of which any may change and the pickle stays loadable. */
struct pickled_numbers {
    size_t begin;
    size_t num_bytes;       /* 0: there are none */
    bool is_one_big_endian; /* a Python float: one double, its first byte the highest */
};

/*
 * Returns the longest block of raw data in a pickle, such as the elements of an array; where there
 * is none, a Python float. position: which of several floats, as a part of 2^64.
 */
struct pickled_numbers numbers_in_pickle(const unsigned char *bytes, size_t num_bytes,
                                         uint64_t position);

#endif

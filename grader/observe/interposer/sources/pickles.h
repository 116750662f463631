/*
 * Finds the numbers in a pickle, which is how mpi4py's lower-case calls send objects.
 *
 * Called by call_arguments.c, which looks for pickles, by samples.c, which reads them, and by
 * datatype_elements.c, which changes them.
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

/* Whether these are the bytes of a file or stream that is compressed, and not very short. */
bool is_compressed(const void *bytes, int64_t num_bytes);

enum number_kind {
    NUMBERS_NONE,
    NUMBERS_IN_ARRAY,      /* a block of raw data */
    NUMBERS_IN_OTHER_CODE, /* such a block, compressed; or text, of no bytes here */
    NUMBER_BIG_ENDIAN,     /* one Python float: a double, its first byte the highest */
    NUMBER_OF_ARRAY,       /* one of an array, pickled by itself: of 4 or 8 bytes */
};

/* Where the numbers of a pickle lie, of which any may change and the pickle stays loadable, unless
 * compressed. */
struct pickled_numbers {
    enum number_kind kind;
    size_t begin;
    size_t num_bytes;
    /* Of numbers by themselves: */
    size_t next;     /* where the next one lies; 0: this is the last */
    uint64_t number; /* how many there are */
};

/*
 * Returns where most of the numbers lie, also in pickles within this one: in its longest block of
 * raw data, such as the elements of an array, or in numbers that are pickled one by one. position:
 * which of these, as a part of 2^64.
 */
struct pickled_numbers numbers_in_pickle(const unsigned char *bytes, size_t num_bytes,
                                         uint64_t position);

#endif

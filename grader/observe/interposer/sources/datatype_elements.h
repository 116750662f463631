/* Changes one element of a message, or asks how they lie; for fault_injection.c and samples.c. */
#ifndef GRADER_ELEMENTS_H
#define GRADER_ELEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "library.h"

/*
 * Changes one element so that whatever is computed from it changes too: to a floating-point number
 * at least 1 is added, or its own size; of a whole number the lowest bit is flipped. Stays finite.
 *
 * datatype: of the message, predefined or made of one predefined type. position: which of the
 * elements, as a part of 2^64. Returns false when there is nothing that can be changed.
 */
bool change_element(unsigned char *bytes, size_t num_bytes, MPI_Datatype datatype,
                    uint64_t position);

/* Whether elements of that size lie one after the other, the first one where a buffer begins. */
bool is_without_gaps(MPI_Datatype datatype, int64_t item_num_bytes);

#endif

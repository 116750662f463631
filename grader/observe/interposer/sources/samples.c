/* Takes the first, the middle and the last 8 bytes of the numbers in a message. */
#include "samples.h"

#include <stdlib.h>
#include <string.h>

#include "datatype_elements.h"
#include "layout.h"
#include "lock_and_clock.h"
#include "pickles.h"

static const struct samples NO_SAMPLES = {0, 0, 0, 0};

enum { WORD_NUM_BYTES = 8, MOST_PACKED_NUM_BYTES = 1 << 16 };

static struct samples samples_of_bytes(const unsigned char *bytes, int64_t num_bytes)
{
    struct samples samples = {num_bytes, 0, 0, 0};
    if (num_bytes <= WORD_NUM_BYTES) {
        memcpy(&samples.first, bytes, (size_t)num_bytes);
        return samples;
    }
    /* The last bytes are those before the end: what begins with a head ends with numbers. */
    int64_t middle = num_bytes / WORD_NUM_BYTES / 2 * WORD_NUM_BYTES;
    memcpy(&samples.first, bytes, WORD_NUM_BYTES);
    memcpy(&samples.middle, &bytes[middle], WORD_NUM_BYTES);
    memcpy(&samples.last, &bytes[num_bytes - WORD_NUM_BYTES], WORD_NUM_BYTES);
    return samples;
}

/* Of Python floats, the first and the last; as an array of two. */
static struct samples samples_of_pickle(const unsigned char *bytes, int64_t num_bytes)
{
    enum { NUM_FLOATS = 2 };
    unsigned char floats[NUM_FLOATS * WORD_NUM_BYTES];
    for (int i = 0; i < NUM_FLOATS; i++) {
        struct pickled_numbers numbers =
            numbers_in_pickle(bytes, (size_t)num_bytes, i == 0 ? 0 : UINT64_MAX);
        if (!numbers.is_one_big_endian)
            return samples_of_bytes(&bytes[numbers.begin], (int64_t)numbers.num_bytes);
        for (size_t j = 0; j < WORD_NUM_BYTES; j++)
            floats[(size_t)(i + 1) * WORD_NUM_BYTES - 1 - j] = bytes[numbers.begin + j];
    }
    return samples_of_bytes(floats, sizeof floats);
}

static struct samples samples_of_packed(const struct details *details, int64_t num_bytes)
{
    int position = 0;
    if (num_bytes > MOST_PACKED_NUM_BYTES)
        return NO_SAMPLES;
    void *copy = allocate((size_t)num_bytes);
    int error = real.Pack(details->sent, (int)details->num_elements, details->datatype, copy,
                          (int)num_bytes, &position, details->comm);
    struct samples samples = error == MPI_SUCCESS && position == num_bytes
                                 ? samples_of_bytes(copy, num_bytes)
                                 : NO_SAMPLES;
    free(copy);
    return samples;
}

struct samples samples_of(const struct details *details, int64_t num_bytes)
{
    if (!(details->flags & IS_SEND) || num_bytes <= 0 || details->peer == MPI_PROC_NULL)
        return NO_SAMPLES;
    bool is_lying_at_buffer =
        details->sent && is_without_gaps(details->datatype, num_bytes / details->num_elements);
    if (!is_lying_at_buffer)
        return samples_of_packed(details, num_bytes);
    return sends_pickle(details) ? samples_of_pickle(details->sent, num_bytes)
                                 : samples_of_bytes(details->sent, num_bytes);
}

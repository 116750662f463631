/* Takes 8 bytes from each third of the numbers in a message, at places that are drawn. */
#include "samples.h"

#include <stdlib.h>
#include <string.h>

#include "datatype_elements.h"
#include "layout.h"
#include "lock_and_clock.h"
#include "pickles.h"
#include "trace_memory.h"

static const struct samples NO_SAMPLES = {0, 0, 0, 0};
static const struct samples IN_OTHER_CODE = {-1, 0, 0, 0};

enum { WORD_NUM_BYTES = 8, NUM_SAMPLES = 3, MOST_PACKED_NUM_BYTES = 1 << 16 };

uint64_t drawn(uint64_t nonce, uint64_t number)
{
    uint64_t x = nonce + number * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static bool is_zero(const unsigned char *word)
{
    uint64_t value;
    memcpy(&value, word, sizeof value);
    return value == 0;
}

/* Words are counted from the end: what begins with a head ends with numbers. */
static struct samples samples_of_bytes(const unsigned char *bytes, int64_t num_bytes)
{
    struct samples samples = {num_bytes, 0, 0, 0};
    if (num_bytes <= WORD_NUM_BYTES) {
        memcpy(&samples.first, bytes, (size_t)num_bytes);
        return samples;
    }
    const unsigned char *words = &bytes[num_bytes % WORD_NUM_BYTES];
    int64_t begin = 0, end = num_bytes / WORD_NUM_BYTES;
    /* Padding carries nothing; of nothing but zeros, one is left. */
    while (end > 1 && is_zero(&words[WORD_NUM_BYTES * (end - 1)]))
        end--;
    while (begin < end - 1 && is_zero(&words[WORD_NUM_BYTES * begin]))
        begin++;
    int64_t padding = num_bytes / WORD_NUM_BYTES - (end - begin);
    samples.num_bytes -= WORD_NUM_BYTES * padding;
    uint64_t *taken[NUM_SAMPLES] = {&samples.first, &samples.middle, &samples.last};
    uint64_t call = atomic_load_explicit(&memory.header->num_reserved, memory_order_relaxed);
    for (int64_t i = 0; i < NUM_SAMPLES; i++) {
        int64_t from = begin + (end - begin) * i / NUM_SAMPLES;
        int64_t length = begin + (end - begin) * (i + 1) / NUM_SAMPLES - from;
        uint64_t number = drawn(memory.header->nonce, call * NUM_SAMPLES + (uint64_t)i);
        int64_t at = from + (length > 0 ? (int64_t)(number % (uint64_t)length) : 0);
        memcpy(taken[i], &words[WORD_NUM_BYTES * at], WORD_NUM_BYTES);
    }
    return samples;
}

/* Of numbers that are pickled one by one, some from each third; as an array of these. */
static struct samples samples_of_pickle(const unsigned char *bytes, int64_t num_bytes)
{
    unsigned char singles[NUM_SAMPLES * WORD_NUM_BYTES] = {0};
    uint64_t num_bytes_of_all = 0;
    uint64_t call = atomic_load_explicit(&memory.header->num_reserved, memory_order_relaxed);
    for (uint64_t i = 0; i < NUM_SAMPLES; i++) {
        unsigned char *word = &singles[i * WORD_NUM_BYTES];
        uint64_t place = drawn(memory.header->nonce, call * NUM_SAMPLES + i) / NUM_SAMPLES;
        struct pickled_numbers numbers =
            numbers_in_pickle(bytes, (size_t)num_bytes, i * (UINT64_MAX / NUM_SAMPLES) + place);
        const unsigned char *at = &bytes[numbers.begin];
        num_bytes_of_all = numbers.number * numbers.num_bytes;
        switch (numbers.kind) {
        case NUMBERS_NONE:
            return NO_SAMPLES;
        case NUMBERS_IN_ARRAY:
            return samples_of_bytes(at, (int64_t)numbers.num_bytes);
        case NUMBERS_IN_OTHER_CODE:
            return IN_OTHER_CODE;
        case NUMBER_BIG_ENDIAN:
            for (size_t j = 0; j < WORD_NUM_BYTES; j++)
                word[WORD_NUM_BYTES - 1 - j] = at[j];
            break;
        case NUMBER_OF_ARRAY:
            memcpy(word, at, numbers.num_bytes);
            if (numbers.num_bytes < WORD_NUM_BYTES && numbers.next)
                memcpy(&word[numbers.num_bytes], &bytes[numbers.next], numbers.num_bytes);
            break;
        }
    }
    struct samples samples = samples_of_bytes(singles, sizeof singles);
    if (samples.num_bytes == sizeof singles)
        samples.num_bytes = (int64_t)num_bytes_of_all;
    return samples;
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

/* A collective between two groups may name a buffer that it does not use. */
static bool gives_to_collective(const struct details *details)
{
    int is_of_two_groups = 1;
    return details->sent && details->sent != MPI_IN_PLACE && details->comm != MPI_COMM_NULL &&
           real.Comm_test_inter(details->comm, &is_of_two_groups) == MPI_SUCCESS &&
           !is_of_two_groups;
}

struct samples samples_of(const struct details *details, int64_t num_bytes)
{
    if (num_bytes <= 0 || details->peer == MPI_PROC_NULL ||
        !(details->flags & IS_SEND || gives_to_collective(details)))
        return NO_SAMPLES;
    bool is_lying_at_buffer =
        details->sent && is_without_gaps(details->datatype, num_bytes / details->num_elements);
    if (!is_lying_at_buffer)
        return samples_of_packed(details, num_bytes);
    bool are_bytes = num_bytes == details->num_elements;
    if (are_bytes && is_compressed(details->sent, num_bytes))
        return IN_OTHER_CODE;
    return are_bytes && is_pickle(details->sent, num_bytes)
               ? samples_of_pickle(details->sent, num_bytes)
               : samples_of_bytes(details->sent, num_bytes);
}

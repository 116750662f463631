/* Goes through a pickle, and the pickles within it, and notes what may be numbers. */
#include "pickles.h"

#include <string.h>

#include "pickle_opcodes.h"

enum { LONG_NUM_BYTES = 64 }; /* of text and of compressed data that may hold many numbers */

/*
 * A pickled tensor of torch holds a file of torch.save in its old format, as a block of bytes: five
 * pickles (a magic number, versions, the description of the storage), the number of elements, and
 * then the elements up to the end. Returns how many bytes of the block come before them.
 */
static size_t before_elements(const unsigned char *block, size_t num_bytes)
{
    static const unsigned char magic[] = {0x80, 2,   0x8a, 10,   'l', 0xfc, 0x9c, 'F',
                                          0xf9, ' ', 'j',  0xa8, 'P', 0x19, '.'};
    enum { NUM_PICKLES = 5, COUNT_NUM_BYTES = 8 };
    if (num_bytes < sizeof magic || memcmp(block, magic, sizeof magic) != 0)
        return 0;
    struct reader reader = {block, num_bytes};
    uint64_t unused;
    for (int i = 0; i < NUM_PICKLES; i++)
        while (reader.at && next_opcode(&reader, &unused) != STOP)
            ;
    skip(&reader, COUNT_NUM_BYTES);
    return reader.at ? num_bytes - reader.num_left : num_bytes;
}

bool is_pickle(const void *bytes, int64_t num_bytes)
{
    const unsigned char *first = bytes;
    return first && num_bytes >= 4 && first[0] == 0x80 && first[1] >= 2 && first[1] <= 5 &&
           first[num_bytes - 1] == '.';
}

bool is_compressed(const void *bytes, int64_t num_bytes)
{
    /* By how zlib, gzip, bz2, lzma and zip begin. */
    static const char *const beginnings[] = {"x\x01",    "x\x5e", "x\x9c",    "x\xda",
                                             "\x1f\x8b", "BZh",   "\3757zXZ", "PK\x03\x04"};
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        size_t length = strlen(beginnings[i]);
        if (num_bytes > LONG_NUM_BYTES && memcmp(bytes, beginnings[i], length) == 0)
            return true;
    }
    return false;
}

/* Numbers that are pickled one by one, all in the same way. */
struct singles {
    uint64_t number;
    uint64_t wanted; /* which of them is looked for */
    struct pickled_numbers found;
};

struct search {
    const unsigned char *bytes; /* of the outermost pickle */
    struct pickled_numbers block;
    struct singles floats, scalars[2]; /* scalars: of 4 and of 8 bytes */
    uint64_t text_num_bytes;           /* of the longest text */
};

static void note_single(struct singles *singles, enum number_kind kind, size_t begin, size_t size)
{
    if (singles->number == singles->wanted)
        singles->found = (struct pickled_numbers){.kind = kind, .begin = begin, .num_bytes = size};
    else if (singles->number == singles->wanted + 1)
        singles->found.next = begin;
    singles->number++;
}

static bool look_through(struct search *search, size_t begin, size_t num_bytes, int depth);

static void note_block(struct search *search, size_t begin, size_t num_bytes, int depth)
{
    enum { MOST_DEPTH = 4 };
    const unsigned char *block = &search->bytes[begin];
    struct search before = *search;
    if (depth < MOST_DEPTH && is_pickle(block, (int64_t)num_bytes)) {
        if (look_through(search, begin, num_bytes, depth + 1))
            return;
        *search = before;
    }
    if (num_bytes == sizeof(float) || num_bytes == sizeof(double))
        note_single(&search->scalars[num_bytes == sizeof(double)], NUMBER_OF_ARRAY, begin,
                    num_bytes);
    size_t elements = before_elements(block, num_bytes);
    enum number_kind kind =
        is_compressed(block, (int64_t)num_bytes) ? NUMBERS_IN_OTHER_CODE : NUMBERS_IN_ARRAY;
    if (num_bytes - elements > search->block.num_bytes)
        search->block = (struct pickled_numbers){
            .kind = kind, .begin = begin + elements, .num_bytes = num_bytes - elements};
}

/* Notes what a pickle holds, which begins there; returns false where it turns out to be none. */
static bool look_through(struct search *search, size_t begin, size_t num_bytes, int depth)
{
    struct reader reader = {&search->bytes[begin], num_bytes};
    unsigned char opcode = 0;
    while (opcode != STOP && reader.num_left) {
        uint64_t length;
        opcode = next_opcode(&reader, &length);
        if (!reader.at)
            return false;
        size_t end = begin + num_bytes - reader.num_left;
        if (opcode == BINFLOAT)
            note_single(&search->floats, NUMBER_BIG_ENDIAN, end - sizeof(double), sizeof(double));
        else if (holds_data(opcode))
            note_block(search, end - length, (size_t)length, depth);
        else if (holds_text(opcode) && length > search->text_num_bytes)
            search->text_num_bytes = length;
    }
    return true;
}

/* Returns what most of the numbers are, by the bytes that they take. */
static struct pickled_numbers most_of(const struct search *search)
{
    struct pickled_numbers most = search->block;
    uint64_t num_bytes = most.num_bytes;
    const struct singles *all[] = {&search->floats, &search->scalars[0], &search->scalars[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        uint64_t of_these = all[i]->number * all[i]->found.num_bytes;
        if (of_these > num_bytes) {
            most = all[i]->found;
            most.number = all[i]->number;
            num_bytes = of_these;
        }
    }
    if (num_bytes == 0 && search->text_num_bytes > LONG_NUM_BYTES)
        most = (struct pickled_numbers){.kind = NUMBERS_IN_OTHER_CODE};
    return most;
}

static uint64_t chosen(uint64_t position, uint64_t number)
{
    return (uint64_t)((unsigned __int128)position * number >> 64);
}

struct pickled_numbers numbers_in_pickle(const unsigned char *bytes, size_t num_bytes,
                                         uint64_t position)
{
    struct search counted = {.bytes = bytes}, search = {.bytes = bytes};
    if (!look_through(&counted, 0, num_bytes, 0))
        return (struct pickled_numbers){.kind = NUMBERS_NONE};
    search.floats.wanted = chosen(position, counted.floats.number);
    for (int i = 0; i < 2; i++)
        search.scalars[i].wanted = chosen(position, counted.scalars[i].number);
    look_through(&search, 0, num_bytes, 0);
    return most_of(&search);
}

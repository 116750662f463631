/* Goes through a pickle opcode by opcode; what the objects mean is of no interest here. */
#include "pickles.h"

#include <string.h>

/* What follows an opcode. */
enum argument {
    ARGUMENT_UNKNOWN, /* no opcode of protocols 0 to 5 */
    ARGUMENT_NONE,
    ARGUMENT_1_BYTE,
    ARGUMENT_2_BYTES,
    ARGUMENT_4_BYTES,
    ARGUMENT_8_BYTES,
    ARGUMENT_LINE,
    ARGUMENT_2_LINES,
    ARGUMENT_COUNTED_BY_1, /* a length in so many bytes, then as many bytes of content */
    ARGUMENT_COUNTED_BY_4,
    ARGUMENT_COUNTED_BY_8,
};

enum { SHORT_BINBYTES = 'C', BINBYTES = 'B', BINBYTES8 = 0x8e, BYTEARRAY8 = 0x96, BINFLOAT = 'G' };

static enum argument argument_of(unsigned char opcode)
{
    /* Many on a line, so that one sees which opcodes have an argument in common. */
    /* clang-format off */
    switch (opcode) {
    case 'K': case 'h': case 'q': case 0x80: case 0x82:
        return ARGUMENT_1_BYTE;
    case 'M': case 0x83:
        return ARGUMENT_2_BYTES;
    case 'J': case 'j': case 'r': case 0x84:
        return ARGUMENT_4_BYTES;
    case BINFLOAT: case 0x95:
        return ARGUMENT_8_BYTES;
    case 'I': case 'L': case 'F': case 'S': case 'V': case 'P': case 'g': case 'p':
        return ARGUMENT_LINE;
    case 'c': case 'i':
        return ARGUMENT_2_LINES;
    case 'U': case SHORT_BINBYTES: case 0x8a: case 0x8c:
        return ARGUMENT_COUNTED_BY_1;
    case 'T': case 'X': case BINBYTES: case 0x8b:
        return ARGUMENT_COUNTED_BY_4;
    case BINBYTES8: case 0x8d: case BYTEARRAY8:
        return ARGUMENT_COUNTED_BY_8;
    case '(': case ')': case '.': case '0': case '1': case '2': case 'N': case 'Q': case 'R':
    case ']': case '}': case 'a': case 'b': case 'd': case 'e': case 'l': case 'o': case 's':
    case 't': case 'u': case 0x81: case 0x85: case 0x86: case 0x87: case 0x88: case 0x89:
    case 0x8f: case 0x90: case 0x91: case 0x92: case 0x93: case 0x94: case 0x97: case 0x98:
        return ARGUMENT_NONE;
    default:
        return ARGUMENT_UNKNOWN;
    }
    /* clang-format on */
}

/* The place that is read next; at NULL once the bytes have turned out to be no pickle. */
struct reader {
    const unsigned char *at;
    size_t num_left;
};

static void skip(struct reader *reader, uint64_t num_bytes)
{
    if (!reader->at || num_bytes > reader->num_left) {
        reader->at = NULL;
        reader->num_left = 0;
        return;
    }
    reader->at += num_bytes;
    reader->num_left -= (size_t)num_bytes;
}

static void skip_line(struct reader *reader)
{
    const unsigned char *end = reader->at ? memchr(reader->at, '\n', reader->num_left) : NULL;
    skip(reader, end ? (uint64_t)(end - reader->at) + 1 : UINT64_MAX);
}

/* Reads a little-endian number of so many bytes. */
static uint64_t read_number(struct reader *reader, size_t num_bytes)
{
    uint64_t number = 0;
    const unsigned char *from = reader->at;
    skip(reader, num_bytes);
    for (size_t i = num_bytes; i-- > 0 && reader->at;)
        number = number << 8 | from[i];
    return number;
}

/* Moves past the argument of an opcode; returns the content of one that has a length, or 0. */
static uint64_t skip_argument(struct reader *reader, enum argument argument)
{
    uint64_t length = 0;
    switch (argument) {
    case ARGUMENT_UNKNOWN:
        skip(reader, UINT64_MAX);
        break;
    case ARGUMENT_NONE:
        break;
    case ARGUMENT_1_BYTE:
        skip(reader, 1);
        break;
    case ARGUMENT_2_BYTES:
        skip(reader, 2);
        break;
    case ARGUMENT_4_BYTES:
        skip(reader, 4);
        break;
    case ARGUMENT_8_BYTES:
        skip(reader, 8);
        break;
    case ARGUMENT_2_LINES:
        skip_line(reader);
        skip_line(reader);
        break;
    case ARGUMENT_LINE:
        skip_line(reader);
        break;
    case ARGUMENT_COUNTED_BY_1:
        length = read_number(reader, 1);
        break;
    case ARGUMENT_COUNTED_BY_4:
        length = read_number(reader, 4);
        break;
    case ARGUMENT_COUNTED_BY_8:
        length = read_number(reader, 8);
        break;
    }
    skip(reader, length);
    return reader->at ? length : 0;
}

/* Moves past the next pickle. */
static void skip_pickle(struct reader *reader)
{
    unsigned char opcode = 0;
    while (reader->at && opcode != '.') {
        opcode = reader->num_left ? *reader->at : 0;
        skip(reader, 1);
        if (reader->at)
            skip_argument(reader, argument_of(opcode));
    }
}

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
    for (int i = 0; i < NUM_PICKLES; i++)
        skip_pickle(&reader);
    skip(&reader, COUNT_NUM_BYTES);
    return reader.at ? num_bytes - reader.num_left : num_bytes;
}

bool is_pickle(const void *bytes, int64_t num_bytes)
{
    const unsigned char *first = bytes;
    return first && num_bytes >= 4 && first[0] == 0x80 && first[1] >= 2 && first[1] <= 5 &&
           first[num_bytes - 1] == '.';
}

static bool holds_data(unsigned char opcode)
{
    return opcode == SHORT_BINBYTES || opcode == BINBYTES || opcode == BINBYTES8 ||
           opcode == BYTEARRAY8;
}

/* Returns the longest block of raw data; where there is none, the float of this number. */
static struct pickled_numbers find(const unsigned char *bytes, size_t num_bytes, uint64_t wanted,
                                   uint64_t *num_floats)
{
    struct pickled_numbers found = {0, 0, false};
    struct reader reader = {bytes, num_bytes};
    unsigned char opcode = 0;
    *num_floats = 0;
    while (opcode != '.' && reader.num_left) {
        opcode = *reader.at;
        skip(&reader, 1);
        uint64_t length = skip_argument(&reader, argument_of(opcode));
        if (!reader.at)
            return (struct pickled_numbers){0, 0, false};
        size_t end = num_bytes - reader.num_left;
        if (opcode == BINFLOAT && (found.num_bytes == 0 || found.is_one_big_endian)) {
            if (*num_floats == wanted)
                found = (struct pickled_numbers){end - sizeof(double), sizeof(double), true};
            ++*num_floats;
        } else if (holds_data(opcode)) {
            size_t before = before_elements(&bytes[end - length], (size_t)length);
            if (found.is_one_big_endian || length - before > found.num_bytes)
                found = (struct pickled_numbers){end - length + before, length - before, false};
        }
    }
    return found;
}

struct pickled_numbers numbers_in_pickle(const unsigned char *bytes, size_t num_bytes,
                                         uint64_t position)
{
    uint64_t num_floats, unused;
    find(bytes, num_bytes, 0, &num_floats);
    uint64_t wanted = (uint64_t)((unsigned __int128)position * num_floats >> 64);
    return find(bytes, num_bytes, wanted, &unused);
}

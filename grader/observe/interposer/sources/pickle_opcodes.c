/* What follows each opcode of a pickle; what the objects mean is of no interest here. */
#include "pickle_opcodes.h"

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

void skip(struct reader *reader, uint64_t num_bytes)
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

unsigned char next_opcode(struct reader *reader, uint64_t *length)
{
    unsigned char opcode = reader->num_left ? *reader->at : 0;
    skip(reader, 1);
    *length = reader->at ? skip_argument(reader, argument_of(opcode)) : 0;
    return reader->at ? opcode : 0;
}

bool holds_data(unsigned char opcode)
{
    return opcode == SHORT_BINBYTES || opcode == BINBYTES || opcode == BINBYTES8 ||
           opcode == BYTEARRAY8;
}

bool holds_text(unsigned char opcode)
{
    return opcode == 'X' || opcode == 0x8c || opcode == 0x8d;
}

/*
 * Goes through the bytes of a pickle, opcode by opcode.
 *
 * Called by pickles.c.
 */
#ifndef GRADER_PICKLE_OPCODES_H
#define GRADER_PICKLE_OPCODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHORT_BINBYTES = 'C', BINBYTES = 'B', BINBYTES8 = 0x8e, BYTEARRAY8 = 0x96 };
enum { BINFLOAT = 'G', STOP = '.' };

/* The place that is read next; at NULL once the bytes have turned out to be no pickle. */
struct reader {
    const unsigned char *at;
    size_t num_left;
};

void skip(struct reader *reader, uint64_t num_bytes);

/*
 * Moves past an opcode and its argument, and returns it; 0 where there is none. length: of the
 * content, which has just been passed, if the argument has one.
 */
unsigned char next_opcode(struct reader *reader, uint64_t *length);

bool holds_data(unsigned char opcode);
bool holds_text(unsigned char opcode);

#endif

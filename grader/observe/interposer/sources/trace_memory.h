/*
 * The judge's memory of this rank: mapped, with names in it, and threads counted in it.
 *
 * MPI_Init and MPI_Finalize attach and retire; whoever writes records uses `memory` itself.
 */
#ifndef GRADER_TRACE_MEMORY_H
#define GRADER_TRACE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "layout.h"

struct trace_memory {
    struct header *header; /* NULL until it is mapped, and in forked children */
    char *names;
    uint64_t *waits;
    struct record *records;
    struct record *overwritten; /* by the offset of the function's name / NAME_NUM_BYTES */
    uint64_t num_records;
    uint64_t num_waits;
    uint64_t num_name_bytes;
};
extern struct trace_memory memory;

/* Maps the judge's memory, if the environment names one; before MPI_Init is called. */
void attach_memory(void);
/* Stops recording; after MPI_Finalize. */
void retire_rank(void);
/* Whether there is a memory to write to: then requests have to be followed. */
bool is_attached(void);

/* Only threads that use MPI count: the judge must not take one that computes for stuck. */
void count_thread(void);

/* Returns the offset of a name in the trace memory; 0 when there is no room left. */
uint32_t intern_name(const char *name);
/* Returns the name at an offset; the empty one where there is none. */
const char *name_at(uint32_t offset);

#endif

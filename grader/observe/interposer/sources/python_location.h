/* Where in Python the current MPI call was made; for recorder.c, phases.c and refusals.c. */
#ifndef GRADER_LOCATION_H
#define GRADER_LOCATION_H

#include <stdbool.h>
#include <stdint.h>

struct location {
    uint32_t file; /* offset of its name in the trace memory; 0 when unknown */
    int32_t line;  /* 0 when unknown */
    /* Stands for one instruction of one code object: a line may hold many. 0 when unknown. */
    uint32_t place;
};

/* Takes the GIL for a moment: never call it with our own lock held. */
struct location python_location(void);

/*
 * Returns the first Python frame for which `is_wanted` says yes, from the innermost outwards; NULL
 * where there is none. A frame's address tells it from all others for as long as it runs.
 */
const void *python_frame(bool (*is_wanted)(const void *frame, const char *file));

#endif

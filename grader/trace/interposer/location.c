/*
 * Asks the Python interpreter for file and line.
 *
 * Looking into a frame costs more than everything else we do for a call; a small cache remembers
 * what we learnt about each place.
 */
#include "location.h"

#include <stddef.h>

#include "python.h"
#include "trace_memory.h"

/*
 * What we learnt about one place in Python code; protected by the GIL. A place is a code object
 * and the instruction in it that makes the call. The cache owns a reference to the code object,
 * else another one could take its address.
 */
static struct place {
    object *code;
    int instruction;
    struct location location;
} places[1024];

static uint64_t digest_of(object *code, int instruction)
{
    uint64_t key = ((uint64_t)(uintptr_t)code >> 4) + (uint64_t)instruction * 31;
    return key * 0x9E3779B97F4A7C15u;
}

static uint32_t file_of(object *code)
{
    /* The caller may be in the middle of handling an exception, which must survive our lookup. */
    object *type, *value, *traceback;
    python.fetch_error(&type, &value, &traceback);
    object *name = python.attribute(code, "co_filename");
    const char *text = name ? python.utf8(name, NULL) : NULL;
    uint32_t file = text ? intern_name(text) : 0;
    if (name)
        python.drop_reference(name);
    python.restore_error(type, value, traceback);
    return file;
}

static struct location locate(object *frame)
{
    object *code = python.code_of(frame);
    int instruction = python.last_instruction ? python.last_instruction(frame) : -1;
    uint64_t digest = digest_of(code, instruction);
    struct place *place = &places[digest >> 54];
    if (place->code != code || place->instruction != instruction) {
        struct location location = {file_of(code), python.line_number(frame), digest >> 32};
        struct place fresh = {code, instruction, location};
        object *forgotten = place->code;
        python.take_reference(code);
        *place = fresh;
        if (forgotten)
            python.drop_reference(forgotten);
    } else if (instruction < 0) {
        place->location.line = python.line_number(frame);
    }
    struct location location = place->location;
    python.drop_reference(code);
    return location;
}

/*
 * mpi4py calls MPI_Finalize from Py_AtExit, when the interpreter is gone and asking for the GIL
 * crashes. A thread that Python does not know has no line to tell.
 */
static bool can_be_asked(void)
{
    return find_python() && python.is_initialized() && !python.is_finalizing() &&
           python.this_thread_state();
}

struct location python_location(void)
{
    struct location nowhere = {0, 0, 0};
    if (!can_be_asked())
        return nowhere;
    int state = python.ensure_gil();
    object *frame = python.current_frame();
    struct location location = frame ? locate(frame) : nowhere;
    python.release_gil(state);
    return location;
}

const void *python_frame(bool (*is_wanted)(const void *frame, const char *file))
{
    if (!can_be_asked())
        return NULL;
    int state = python.ensure_gil();
    object *frame = python.current_frame();
    if (frame)
        python.take_reference(frame);
    while (frame && !is_wanted(frame, name_at(locate(frame).file))) {
        object *below = python.frame_below(frame);
        python.drop_reference(frame);
        frame = below;
    }
    if (frame)
        python.drop_reference(frame); /* it runs, and goes on doing so without us */
    python.release_gil(state);
    return frame;
}

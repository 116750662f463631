/*
 * Asks the Python interpreter for file and line.
 *
 * Looking into a frame costs more than everything else we do for a call; a small cache remembers
 * what we learnt about each place.
 */
#include "python_location.h"

#include <limits.h>

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
    char file[PATH_MAX];
    PyErr_Fetch(&type, &value, &traceback);
    copy_attribute(code, "co_filename", file);
    PyErr_Restore(type, value, traceback);
    return file[0] ? intern_name(file) : 0;
}

static struct location locate(object *frame)
{
    object *code = PyFrame_GetCode(frame);
    Py_DecRef(code); /* the frame runs, and keeps it */
    int instruction = PyFrame_GetLasti ? PyFrame_GetLasti(frame) : -1; /* since 3.11 */
    uint64_t digest = digest_of(code, instruction);
    struct place *place = &places[digest >> 54];
    if (place->code != code || place->instruction != instruction) {
        struct location location = {file_of(code), PyFrame_GetLineNumber(frame), digest >> 32};
        struct place fresh = {code, instruction, location};
        object *forgotten = place->code;
        Py_IncRef(code);
        *place = fresh;
        Py_DecRef(forgotten);
    } else if (instruction < 0) {
        place->location.line = PyFrame_GetLineNumber(frame);
    }
    return place->location;
}

static bool is_finalizing(void)
{
    return Py_IsFinalizing ? Py_IsFinalizing() : _Py_IsFinalizing();
}

/*
 * mpi4py calls MPI_Finalize from Py_AtExit, when the interpreter is gone and asking for the GIL
 * crashes. A thread that Python does not know has no line to tell.
 */
static bool can_be_asked(void)
{
    return Py_IsInitialized && Py_IsInitialized() && !is_finalizing() &&
           PyGILState_GetThisThreadState();
}

struct location python_location(void)
{
    struct location nowhere = {0, 0, 0};
    if (!can_be_asked())
        return nowhere;
    int state = PyGILState_Ensure();
    object *frame = PyEval_GetFrame();
    struct location location = frame ? locate(frame) : nowhere;
    PyGILState_Release(state);
    return location;
}

const void *python_frame(bool (*is_wanted)(const void *frame, const char *file))
{
    if (!can_be_asked())
        return NULL;
    int state = PyGILState_Ensure();
    object *frame = PyEval_GetFrame();
    while (frame && !is_wanted(frame, name_at(locate(frame).file)))
        frame = frame_below(frame);
    PyGILState_Release(state);
    return frame;
}

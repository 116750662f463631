/*
 * Asks the Python interpreter for file and line, through its C API.
 *
 * The API is looked up by name, so that the interposer needs neither Python.h nor libpython and
 * serves every Python version and programs without Python. Looking into a frame costs more than
 * everything else we do for a call; a small cache remembers what we learnt about each place.
 */
#define _GNU_SOURCE
#include "location.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

#include "recorder.h"

/* An object of Python; we only pass pointers to them around. */
typedef void object;

static struct {
    int is_usable;
    int (*is_initialized)(void);
    int (*is_finalizing)(void);
    void *(*this_thread_state)(void);
    int (*ensure_gil)(void);
    void (*release_gil)(int);
    object *(*current_frame)(void);   /* borrowed */
    object *(*frame_below)(object *); /* new reference */
    object *(*code_of)(object *);     /* new reference */
    int (*last_instruction)(object *); /* since 3.11; NULL before */
    int (*line_number)(object *);
    object *(*attribute)(object *, const char *);
    const char *(*utf8)(object *, ptrdiff_t *);
    void (*take_reference)(object *);
    void (*drop_reference)(object *);
    void (*fetch_error)(object **, object **, object **);
    void (*restore_error)(object *, object *, object *);
} python;

static void look_up_python(void)
{
    struct {
        void *where;
        const char *name;
    } wanted[] = {
        {&python.is_initialized, "Py_IsInitialized"},
        {&python.this_thread_state, "PyGILState_GetThisThreadState"},
        {&python.ensure_gil, "PyGILState_Ensure"},
        {&python.release_gil, "PyGILState_Release"},
        {&python.current_frame, "PyEval_GetFrame"},
        {&python.frame_below, "PyFrame_GetBack"},
        {&python.code_of, "PyFrame_GetCode"},
        {&python.line_number, "PyFrame_GetLineNumber"},
        {&python.attribute, "PyObject_GetAttrString"},
        {&python.utf8, "PyUnicode_AsUTF8AndSize"},
        {&python.take_reference, "Py_IncRef"},
        {&python.drop_reference, "Py_DecRef"},
        {&python.fetch_error, "PyErr_Fetch"},
        {&python.restore_error, "PyErr_Restore"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *address = dlsym(RTLD_DEFAULT, wanted[i].name);
        if (!address)
            return;
        *(void **)wanted[i].where = address;
    }
    *(void **)&python.last_instruction = dlsym(RTLD_DEFAULT, "PyFrame_GetLasti");
    *(void **)&python.is_finalizing = dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
    if (!python.is_finalizing) /* its name before 3.13 */
        *(void **)&python.is_finalizing = dlsym(RTLD_DEFAULT, "_Py_IsFinalizing");
    python.is_usable = python.is_finalizing != NULL;
}

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
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, look_up_python);
    return python.is_usable && python.is_initialized() && !python.is_finalizing() &&
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

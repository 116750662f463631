/*
 * An audit hook of Python: named ways around what is recorded end in an exception.
 *
 * This names the well-known routes; it is no wall. Code that writes to memory by other means is
 * for the judge to notice.
 */
#include "guard.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "ownership.h"
#include "refusals.h"
#include "text.h"

static int on_dlopen(object *arguments)
{
    char path[PATH_MAX];
    copy_text(PyTuple_GetItem(arguments, 0), path);
    if (strchr(path, '/') && !is_installed(path))
        return refuse(INDIRECTLY, "opens a C library that is not installed (ctypes)");
    return refuse(BY_ITSELF, "opens a C library (ctypes)");
}

static int on_dlsym(object *arguments)
{
    char name[PATH_MAX];
    copy_text(PyTuple_GetItem(arguments, 1), name);
    if (begins_with(name, "MPI_") || begins_with(name, "PMPI_"))
        return refuse(INDIRECTLY, "looks up an MPI function of the C library (ctypes)");
    return refuse(BY_ITSELF, "looks up a function of a C library (ctypes)");
}

static int on_import(object *arguments)
{
    char path[PATH_MAX];
    copy_text(PyTuple_GetItem(arguments, 1), path);
    if (Py_IsNone(PyTuple_GetItem(arguments, 1)) || is_installed(path))
        return 0;
    return refuse(INDIRECTLY, "loads a compiled module that is not installed");
}

/* The memory of a process, by its name: under another one it is the kernel that refuses it. */
static int on_open(object *arguments)
{
    char path[PATH_MAX], what[TEXT_NUM_BYTES];
    copy_text(PyTuple_GetItem(arguments, 0), path);
    if (!begins_with(path, "/proc/") || !(ends_with(path, "/mem") || ends_with(path, "maps")))
        return 0;
    snprintf(what, sizeof what, "opens the memory of a process (%.100s)", path);
    return refuse(INDIRECTLY, what);
}

#define AN_ADDRESS "uses memory by its address (ctypes)"
#define AN_EXTENSION "loads a C library as a database extension (sqlite3)"
#define A_PROGRAM "starts another program"

static const struct {
    const char *event;
    int (*act)(object *arguments); /* where it depends on what exactly is asked for */
    enum whom whom;
    const char *what;
} rules[] = {
    {"open", .act = on_open},
    {"import", .act = on_import},
    {"compile", .act = on_compile},
    {"code.__new__", .act = on_code},
    {"marshal.loads", .act = on_marshal},
    {"ctypes.dlopen", .act = on_dlopen},
    {"ctypes.dlsym", .act = on_dlsym},
    {"ctypes.dlsym/handle", .act = on_dlsym},
    {"mmap.__new__", .act = on_mapping},
    {"marshal.load", NULL, BY_ITSELF, "reads data that may be code from a file (marshal)"},
    {"ctypes.call_function", NULL, BY_ITSELF, AN_ADDRESS},
    {"ctypes.cdata", NULL, BY_ITSELF, AN_ADDRESS},
    {"ctypes.string_at", NULL, BY_ITSELF, AN_ADDRESS},
    {"ctypes.wstring_at", NULL, BY_ITSELF, AN_ADDRESS},
    {"ctypes.PyObj_FromPtr", NULL, BY_ITSELF, AN_ADDRESS},
    {"sqlite3.enable_load_extension", NULL, INDIRECTLY, AN_EXTENSION},
    {"sqlite3.load_extension", NULL, INDIRECTLY, AN_EXTENSION},
    {"subprocess.Popen", NULL, BY_ITSELF, A_PROGRAM},
    {"os.system", NULL, BY_ITSELF, A_PROGRAM},
    {"os.exec", NULL, BY_ITSELF, A_PROGRAM},
    {"os.posix_spawn", NULL, BY_ITSELF, A_PROGRAM},
    {"pty.spawn", NULL, BY_ITSELF, A_PROGRAM},
};

static int on_event(const char *event, object *arguments, void *unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(event, rules[i].event) == 0)
            return rules[i].act ? rules[i].act(arguments) : refuse(rules[i].whom, rules[i].what);
    return 0;
}

int grader_guard(int trace_fd, const char *beginnings_by_owner)
{
    if (knows_own_files() || !attach_refusals(trace_fd) || !know_files(beginnings_by_owner))
        return -1;
    return PySys_AddAuditHook(on_event, NULL);
}

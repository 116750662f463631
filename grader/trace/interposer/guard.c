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

#include "claimed_code.h"
#include "executable_memory.h"
#include "ownership.h"
#include "python.h"
#include "refusals.h"
#include "text.h"

static int on_dlopen(object *arguments)
{
    char path[PATH_MAX];
    copy_argument(arguments, 0, path);
    if (strchr(path, '/') && !is_installed(path))
        return refuse(INDIRECTLY, "opens a C library that is not an installed one (ctypes)");
    return refuse(BY_ITSELF, "opens a C library (ctypes)");
}

static int on_dlsym(object *arguments)
{
    char name[PATH_MAX];
    copy_argument(arguments, 1, name);
    if (begins_with(name, "MPI_") || begins_with(name, "PMPI_"))
        return refuse(INDIRECTLY, "looks up an MPI function of the C library (ctypes)");
    return refuse(BY_ITSELF, "looks up a function of a C library (ctypes)");
}

static int on_import(object *arguments)
{
    char path[PATH_MAX];
    copy_argument(arguments, 1, path);
    if (!path[0] || is_installed(path))
        return 0;
    return refuse(INDIRECTLY, "loads a compiled module that is not an installed one");
}

/* By its name, for the sentence: under another one it is the kernel that refuses it to ranks. */
static bool is_memory_of_process(const char *path)
{
    return begins_with(path, "/proc/") && (ends_with(path, "/mem") || ends_with(path, "maps"));
}

static int on_open(object *arguments)
{
    char path[PATH_MAX], what[TEXT_NUM_BYTES];
    copy_argument(arguments, 0, path);
    if (!is_memory_of_process(path))
        return 0;
    snprintf(what, sizeof what, "looks into a process (%.100s)", path);
    return refuse(INDIRECTLY, what);
}

static int on_mapping(object *arguments)
{
    (void)arguments;
    expect_mapping();
    return 0;
}

/* Where it depends on what exactly is asked for. */
static const struct {
    const char *event;
    int (*act)(object *arguments);
} examined[] = {
    {"open", on_open},
    {"import", on_import},
    {"compile", on_compile},
    {"code.__new__", on_code},
    {"marshal.loads", on_marshal},
    {"ctypes.dlopen", on_dlopen},
    {"ctypes.dlsym", on_dlsym},
    {"ctypes.dlsym/handle", on_dlsym},
    {"mmap.__new__", on_mapping},
};

#define AN_ADDRESS "uses memory by its address (ctypes)"
#define AN_EXTENSION "loads a C library as an extension of a database (sqlite3)"
#define A_PROGRAM "starts another program"

static const struct {
    const char *event;
    enum whom whom;
    const char *what;
} refused[] = {
    {"marshal.load", BY_ITSELF, "reads what may be code from a file (marshal)"},
    {"ctypes.call_function", BY_ITSELF, AN_ADDRESS},
    {"ctypes.cdata", BY_ITSELF, AN_ADDRESS},
    {"ctypes.string_at", BY_ITSELF, AN_ADDRESS},
    {"ctypes.wstring_at", BY_ITSELF, AN_ADDRESS},
    {"ctypes.PyObj_FromPtr", BY_ITSELF, AN_ADDRESS},
    {"sqlite3.enable_load_extension", INDIRECTLY, AN_EXTENSION},
    {"sqlite3.load_extension", INDIRECTLY, AN_EXTENSION},
    {"subprocess.Popen", BY_ITSELF, A_PROGRAM},
    {"os.system", BY_ITSELF, A_PROGRAM},
    {"os.exec", BY_ITSELF, A_PROGRAM},
    {"os.posix_spawn", BY_ITSELF, A_PROGRAM},
    {"pty.spawn", BY_ITSELF, A_PROGRAM},
};

static int on_event(const char *event, object *arguments, void *unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof examined / sizeof *examined; i++)
        if (strcmp(event, examined[i].event) == 0)
            return examined[i].act(arguments);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (strcmp(event, refused[i].event) == 0)
            return refuse(refused[i].whom, refused[i].what);
    return 0;
}

int grader_guard(int trace_fd, const char *own, const char *support, const char *installed,
                 const char *standard)
{
    if (knows_own_files() || !find_python() || !attach_refusals(trace_fd) ||
        !know_folders(own, support, installed, standard))
        return -1;
    return python.add_audit_hook(on_event, NULL);
}

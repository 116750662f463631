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
        return refuse_indirectly("opens a C library that is not an installed one (ctypes)");
    return refuse_submission("opens a C library (ctypes)");
}

static int on_dlsym(object *arguments)
{
    char name[PATH_MAX];
    copy_argument(arguments, 1, name);
    if (begins_with(name, "MPI_") || begins_with(name, "PMPI_"))
        return refuse_indirectly("looks up an MPI function of the C library (ctypes)");
    return refuse_submission("looks up a function of a C library (ctypes)");
}

static int on_import(object *arguments)
{
    char path[PATH_MAX];
    copy_argument(arguments, 1, path);
    if (!path[0] || is_installed(path))
        return 0;
    return refuse_indirectly("loads a compiled module that is not an installed one");
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
    return refuse_indirectly(what);
}

static int on_spawn(object *arguments)
{
    (void)arguments;
    return refuse_submission("starts another program");
}

static int on_address(object *arguments)
{
    (void)arguments;
    return refuse_submission("uses memory by its address (ctypes)");
}

static int on_extension(object *arguments)
{
    (void)arguments;
    return refuse_indirectly("loads a C library as an extension of a database (sqlite3)");
}

static int on_mapping(object *arguments)
{
    (void)arguments;
    expect_mapping();
    return 0;
}

static const struct {
    const char *event;
    int (*act)(object *);
} rules[] = {
    {"open", on_open},
    {"import", on_import},
    {"compile", on_compile},
    {"code.__new__", on_code},
    {"marshal.loads", on_marshal},
    {"marshal.load", on_marshal_file},
    {"ctypes.dlopen", on_dlopen},
    {"ctypes.dlsym", on_dlsym},
    {"ctypes.dlsym/handle", on_dlsym},
    {"ctypes.call_function", on_address},
    {"ctypes.cdata", on_address},
    {"ctypes.string_at", on_address},
    {"ctypes.wstring_at", on_address},
    {"ctypes.PyObj_FromPtr", on_address},
    {"sqlite3.enable_load_extension", on_extension},
    {"sqlite3.load_extension", on_extension},
    {"mmap.__new__", on_mapping},
    {"subprocess.Popen", on_spawn},
    {"os.system", on_spawn},
    {"os.exec", on_spawn},
    {"os.posix_spawn", on_spawn},
    {"pty.spawn", on_spawn},
};

static int on_event(const char *event, object *arguments, void *unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(event, rules[i].event) == 0)
            return rules[i].act(arguments);
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

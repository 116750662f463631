/*
 * An audit hook of Python: named ways around what is recorded end in an exception.
 *
 * Who asks is read off the Python stack. The standard library and the harness do what others ask
 * of them; the first frame of anybody else decides. Installed packages load what they need;
 * anything else is the submission. Some things are refused wherever the submission is on the stack.
 *
 * This names the well-known routes; it is no wall. Code that writes to memory by other means is
 * for the judge to notice.
 */
#define _GNU_SOURCE
#include "guard.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "layout.h"
#include "location.h"
#include "recorder.h"

/* An object of Python; we only pass pointers to them around. */
typedef void object;

static struct {
    int (*add_hook)(int (*)(const char *, object *, void *), void *);
    object *(*current_frame)(void);  /* borrowed */
    object *(*frame_below)(object *); /* new reference, as the next two */
    object *(*code_of)(object *);
    object *(*attribute)(object *, const char *);
    int (*line_number)(object *);
    object *(*item)(object *, ptrdiff_t); /* borrowed */
    object *(*path_of)(object *);         /* new reference: text or bytes */
    const char *(*utf8)(object *, ptrdiff_t *);
    char *(*bytes)(object *);
    int (*bytes_and_size)(object *, char **, ptrdiff_t *);
    object *(*value_of)(object *, const char *); /* new reference */
    void (*take_reference)(object *);
    void (*drop_reference)(object *);
    void (*clear_error)(void);
    void (*set_error)(object *, const char *);
    object **permission_error;
} python;

static struct {
    struct refusal *refusal;
    char *own;
    char *support;
    char *installed;
    char *standard;
} guard;

enum { TEXT_NUM_BYTES = 512, COMPILED_HEADER_NUM_BYTES = 16 };

/* How the names of files in no folder begin: the course's probes, and parts of Python itself. */
#define PROBES "<probes"
#define FROZEN "<frozen "

static bool look_up_python(void)
{
    struct {
        void *where;
        const char *name;
    } wanted[] = {
        {&python.add_hook, "PySys_AddAuditHook"},
        {&python.current_frame, "PyEval_GetFrame"},
        {&python.frame_below, "PyFrame_GetBack"},
        {&python.code_of, "PyFrame_GetCode"},
        {&python.attribute, "PyObject_GetAttrString"},
        {&python.line_number, "PyFrame_GetLineNumber"},
        {&python.item, "PyTuple_GetItem"},
        {&python.path_of, "PyOS_FSPath"},
        {&python.utf8, "PyUnicode_AsUTF8AndSize"},
        {&python.bytes, "PyBytes_AsString"},
        {&python.bytes_and_size, "PyBytes_AsStringAndSize"},
        {&python.value_of, "PyMapping_GetItemString"},
        {&python.take_reference, "Py_IncRef"},
        {&python.drop_reference, "Py_DecRef"},
        {&python.clear_error, "PyErr_Clear"},
        {&python.set_error, "PyErr_SetString"},
        {&python.permission_error, "PyExc_PermissionError"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *address = dlsym(RTLD_DEFAULT, wanted[i].name);
        if (!address)
            return false;
        *(void **)wanted[i].where = address;
    }
    return true;
}

/* ---- places ---- */

static bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

static bool ends_with(const char *text, const char *end)
{
    size_t text_num_bytes = strlen(text), end_num_bytes = strlen(end);
    return text_num_bytes >= end_num_bytes &&
           strcmp(text + text_num_bytes - end_num_bytes, end) == 0;
}

/* Whether a path may lead out of the folders that it begins with: /given/../submission. */
static bool is_roundabout(const char *path)
{
    return strstr(path, "//") || strstr(path, "/./") || strstr(path, "/../") ||
           ends_with(path, "/.") || ends_with(path, "/..");
}

/* Whether a file lies in one of the folders, each of which a line break ends. */
static bool is_in(const char *file, const char *folders)
{
    if (is_roundabout(file))
        return false;
    for (const char *end; (end = strchr(folders, '\n')); folders = end + 1)
        if (end != folders && strncmp(file, folders, (size_t)(end - folders)) == 0)
            return true;
    return false;
}

enum owner { OURS, SUPPORT, PACKAGE, STANDARD, SUBMISSION };

/*
 * Parts of the standard library that use C memory or other programs in ways of their own, whoever
 * calls them: shared numbers between processes, and what a machine is called.
 */
static bool acts_for_itself(const char *file)
{
    return ends_with(file, "/multiprocessing/sharedctypes.py") || ends_with(file, "/platform.py") ||
           ends_with(file, "/uuid.py");
}

static enum owner owner_of(const char *file)
{
    if (is_in(file, guard.own))
        return OURS;
    if (is_in(file, guard.support) || begins_with(file, PROBES))
        return SUPPORT;
    if (is_in(file, guard.installed))
        return PACKAGE;
    if (is_in(file, guard.standard))
        return acts_for_itself(file) ? PACKAGE : STANDARD;
    return begins_with(file, FROZEN) ? STANDARD : SUBMISSION;
}

bool knows_own_files(void)
{
    return guard.own != NULL;
}

bool is_own_file(const char *file)
{
    return is_in(file, guard.own);
}

/* Copies what Python's text, bytes or path says; empty for anything else. */
static void copy_text(object *value, char *text)
{
    text[0] = '\0';
    object *path = value ? python.path_of(value) : NULL;
    const char *said = path ? python.utf8(path, NULL) : NULL;
    if (path && !said) {
        python.clear_error();
        said = python.bytes(path);
    }
    if (said)
        snprintf(text, PATH_MAX, "%s", said);
    else
        python.clear_error();
    if (path)
        python.drop_reference(path);
}

static void copy_argument(object *arguments, ptrdiff_t index, char *text)
{
    object *value = python.item(arguments, index);
    if (!value)
        python.clear_error();
    copy_text(value, text);
}

struct asker {
    enum owner owner;
    char file[PATH_MAX];
    int line;
    bool is_module; /* the code of a whole file, which runs when it is imported */
};

static bool is_import_machinery(const char *file)
{
    return begins_with(file, "<frozen importlib");
}

static void look_at(object *frame, struct asker *asker)
{
    object *code = python.code_of(frame);
    object *file = python.attribute(code, "co_filename"), *name = python.attribute(code, "co_name");
    char said[PATH_MAX];
    copy_text(name, said);
    asker->is_module = strcmp(said, "<module>") == 0;
    copy_text(file, asker->file);
    asker->line = python.line_number(frame);
    asker->owner = owner_of(asker->file);
    if (file)
        python.drop_reference(file);
    if (name)
        python.drop_reference(name);
    python.drop_reference(code);
}

/*
 * Finds who wants something: the innermost frame that does not act for another one. Whether
 * installed packages act for others, too, depends on what is asked for; while one is imported it
 * acts for itself.
 */
static struct asker find_asker(bool packages_decide)
{
    struct asker asker = {.owner = SUBMISSION};
    object *frame = python.current_frame();
    if (frame)
        python.take_reference(frame);
    bool is_package = false; /* the last frame was the whole file of an installed package */
    while (frame) {
        look_at(frame, &asker);
        object *below = NULL;
        bool is_imported = is_package && is_import_machinery(asker.file);
        if (is_imported)
            asker.owner = PACKAGE;
        is_package = asker.owner == PACKAGE && asker.is_module;
        bool decides = is_imported || asker.owner == SUBMISSION || asker.owner == SUPPORT ||
                       (asker.owner == PACKAGE && packages_decide);
        if (!decides)
            below = python.frame_below(frame);
        python.drop_reference(frame);
        frame = below;
    }
    /* A stack of nothing but the standard library: a thread or callback that somebody set up. */
    if (asker.owner == STANDARD)
        asker.owner = SUBMISSION;
    return asker;
}

/* ---- refusing ---- */

/* Notes a refusal for the judge, and writes it in words to text, of TEXT_NUM_BYTES. */
static void note(const char *file, int line, const char *what, char *text)
{
    const char *slash = strrchr(file, '/');
    snprintf(text, TEXT_NUM_BYTES, "%.100s:%d %s", slash ? slash + 1 : file, line, what);
    if (atomic_fetch_add(&guard.refusal->number, 1) == 0)
        snprintf(guard.refusal->first, sizeof guard.refusal->first, "%s", text);
}

bool refuses_call(const char *what)
{
    if (!knows_own_files())
        return false;
    char text[TEXT_NUM_BYTES];
    struct location location = python_location();
    note(name_at(location.file), location.line, what, text);
    return true;
}

static int refuse(const struct asker *asker, const char *what)
{
    char text[TEXT_NUM_BYTES], said[TEXT_NUM_BYTES + 64];
    note(asker->file, asker->line, what, text);
    snprintf(said, sizeof said, "%s; submissions talk through mpi4py or torch only", text);
    python.set_error(*python.permission_error, said);
    return -1;
}

/* For what only a submission does by itself: packages load what they need. */
static int refuse_submission(const char *what)
{
    struct asker asker = find_asker(true);
    return asker.owner == SUBMISSION ? refuse(&asker, what) : 0;
}

/* For what a submission does not do by way of a package either. */
static int refuse_indirectly(const char *what)
{
    struct asker asker = find_asker(false);
    return asker.owner == SUBMISSION ? refuse(&asker, what) : 0;
}

/* ---- what is refused ---- */

static bool is_standard_library_path(const char *path)
{
    return begins_with(path, "/lib/") || begins_with(path, "/lib64/") ||
           begins_with(path, "/usr/lib/") || begins_with(path, "/usr/local/lib/");
}

/* A library or compiled module that came with the machine, not with the submission. */
static bool is_installed(const char *path)
{
    return is_in(path, guard.installed) || is_in(path, guard.standard) || is_in(path, guard.own) ||
           (is_standard_library_path(path) && !is_roundabout(path));
}

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

/*
 * Whether a path names memory or descriptors of a process, or tells where in its memory things
 * are: /proc/1/mem, /proc/1/fd/3, /proc/1/maps.
 */
static bool is_inside_process(const char *path)
{
    if (begins_with(path, "/dev/fd/"))
        return true;
    return begins_with(path, "/proc/") &&
           (ends_with(path, "/mem") || ends_with(path, "maps") || strstr(path, "/fd/") ||
            strstr(path, "/map_files"));
}

/* Whether a path does so once its links are followed: all, or all but the last, for fd/3 is one. */
static bool leads_inside_process(const char *path)
{
    char whole[PATH_MAX], folder[PATH_MAX], resolved[PATH_MAX];
    if (realpath(path, whole) && is_inside_process(whole))
        return true;
    const char *slash = strrchr(path, '/');
    if (slash)
        snprintf(folder, sizeof folder, "%.*s/", (int)(slash - path), path);
    if (!realpath(slash ? folder : ".", resolved))
        return false;
    snprintf(whole, sizeof whole, "%.3000s/%.1000s", resolved, slash ? slash + 1 : path);
    return is_inside_process(whole);
}

static bool is_on_proc(int folder, const char *path, int flags)
{
    struct statfs system;
    int found = openat(folder, path, O_PATH | O_CLOEXEC | flags);
    bool is = found >= 0 && fstatfs(found, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
    if (found >= 0)
        close(found);
    return is;
}

/*
 * Events do not tell from which open folder a path goes (dir_fd), so it is tried from each. To
 * follow its names takes long in a deep folder, and is worth it on /proc only.
 */
static bool leads_inside_from_open_folder(const char *path)
{
    DIR *descriptors = path[0] == '/' ? NULL : opendir("/proc/self/fd");
    bool leads = false;
    for (struct dirent *entry; descriptors && !leads && (entry = readdir(descriptors));) {
        int folder = entry->d_name[0] == '.' ? -1 : atoi(entry->d_name);
        if (folder < 0 || folder == dirfd(descriptors) ||
            !(is_on_proc(folder, path, 0) || is_on_proc(folder, path, O_NOFOLLOW)))
            continue;
        char whole[PATH_MAX];
        snprintf(whole, sizeof whole, "/proc/self/fd/%d/%.4000s", folder, path);
        leads = leads_inside_process(whole);
    }
    if (descriptors)
        closedir(descriptors);
    return leads;
}

static int on_open(object *arguments)
{
    char path[PATH_MAX], what[TEXT_NUM_BYTES];
    copy_argument(arguments, 0, path);
    if (!path[0] || !(is_inside_process(path) || leads_inside_process(path) ||
                      leads_inside_from_open_folder(path)))
        return 0;
    snprintf(what, sizeof what, "looks into a process (%.100s)", path);
    return refuse_indirectly(what);
}

/* Bytes of Python; none for any other object. */
struct bytes {
    char *start;
    ptrdiff_t number;
};

static struct bytes bytes_in(object *arguments, ptrdiff_t index)
{
    struct bytes bytes = {NULL, 0};
    object *value = python.item(arguments, index);
    if (!value || python.bytes_and_size(value, &bytes.start, &bytes.number) != 0) {
        python.clear_error();
        return (struct bytes){NULL, 0};
    }
    return bytes;
}

/* Whether a file that is not the submission's holds these bytes, and no others after its header. */
static bool is_held_by(const char *file, long header_num_bytes, struct bytes bytes)
{
    FILE *opened = bytes.start && file[0] == '/' && owner_of(file) != SUBMISSION
                       ? fopen(file, "rbe")
                       : NULL;
    if (!opened)
        return false;
    size_t number = (size_t)bytes.number;
    char *held = malloc(number + 1);
    bool is_held = held && fseek(opened, header_num_bytes, SEEK_SET) == 0 &&
                   fread(held, 1, number + 1, opened) == number &&
                   memcmp(held, bytes.start, number) == 0;
    free(held);
    fclose(opened);
    return is_held;
}

static int refuse_code(void)
{
    return refuse_submission("makes code that claims to come from another file");
}

static int on_code(object *arguments)
{
    char file[PATH_MAX];
    copy_argument(arguments, 1, file);
    return owner_of(file) == SUBMISSION ? 0 : refuse_code();
}

/* What a file holds may be compiled in its name, as importing it does. */
static int on_compile(object *arguments)
{
    char file[PATH_MAX];
    copy_argument(arguments, 1, file);
    return is_held_by(file, 0, bytes_in(arguments, 0)) ? 0 : on_code(arguments);
}

static bool hold(struct bytes bytes, const char *text, size_t num_bytes)
{
    return memmem(bytes.start, (size_t)bytes.number, text, num_bytes) != NULL;
}

static bool hold_one_of(struct bytes bytes, const char *folders)
{
    for (const char *end; (end = strchr(folders, '\n')); folders = end + 1)
        if (end != folders && hold(bytes, folders, (size_t)(end - folders)))
            return true;
    return false;
}

/* Compiled code names its files: any but the submission's own only where it is read from theirs. */
static int on_marshal(object *arguments)
{
    struct bytes bytes = bytes_in(arguments, 0);
    if (!bytes.start)
        return 0;
    if (!hold(bytes, PROBES, strlen(PROBES)) && !hold(bytes, FROZEN, strlen(FROZEN)) &&
        !hold_one_of(bytes, guard.own) && !hold_one_of(bytes, guard.support) &&
        !hold_one_of(bytes, guard.installed) && !hold_one_of(bytes, guard.standard))
        return 0;
    char file[PATH_MAX];
    object *frame = python.current_frame();
    object *locals = frame ? python.attribute(frame, "f_locals") : NULL;
    /* So an import calls the file that it has read; what is said there is compared with it. */
    object *compiled = locals ? python.value_of(locals, "bytecode_path") : NULL;
    if (!compiled)
        python.clear_error();
    copy_text(compiled, file);
    if (compiled)
        python.drop_reference(compiled);
    if (locals)
        python.drop_reference(locals);
    return is_held_by(file, COMPILED_HEADER_NUM_BYTES, bytes) ? 0 : refuse_code();
}

static int on_marshal_file(object *arguments)
{
    (void)arguments;
    return refuse_submission("reads what may be code from a file (marshal)");
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

static const struct {
    const char *event;
    int (*act)(object *);
} rules[] = {
    {"open", on_open},
    {"os.symlink", on_open},
    {"os.link", on_open},
    {"os.listdir", on_open},
    {"os.scandir", on_open},
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
    {"subprocess.Popen", on_spawn},
    {"os.system", on_spawn},
    {"os.exec", on_spawn},
    {"os.posix_spawn", on_spawn},
    {"os.spawn", on_spawn},
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
    if (guard.own || !look_up_python())
        return -1;
    char *page = mmap(NULL, HEADER_NUM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, trace_fd, 0);
    if (page == MAP_FAILED)
        return -1;
    guard.refusal = (struct refusal *)(page + REFUSAL_AT);
    guard.own = strdup(own);
    guard.support = strdup(support);
    guard.installed = strdup(installed);
    guard.standard = strdup(standard);
    if (!guard.own || !guard.support || !guard.installed || !guard.standard)
        return -1;
    return python.add_hook(on_event, NULL);
}

/*
 * Tells who asks for what the guard watches, and answers them.
 *
 * Who asks is read off the Python stack. The standard library and the harness do what others ask
 * of them; the first frame of anybody else decides. Installed packages load what they need;
 * anything else is the submission. Some things are refused wherever the submission is on the stack.
 */
#define _GNU_SOURCE
#include "refusals.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "layout.h"
#include "ownership.h"
#include "python.h"
#include "python_location.h"
#include "text.h"
#include "trace_memory.h"

static struct refusal *noted;
static bool allows_windows;

bool attach_refusals(int trace_fd)
{
    char *page = mmap(NULL, HEADER_NUM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, trace_fd, 0);
    if (page == MAP_FAILED)
        return false;
    noted = (struct refusal *)(page + REFUSAL_AT);
    allows_windows = getenv("GRADER_WINDOWS") != NULL;
    return true;
}

/* ---- who asks ---- */

struct asker {
    enum owner owner;
    char file[PATH_MAX];
    int line;
    bool is_module; /* the code of a whole file, which runs when it is imported */
};

static struct asker look_at(object *frame)
{
    struct asker asker = {.line = PyFrame_GetLineNumber(frame)};
    char name[PATH_MAX];
    object *code = PyFrame_GetCode(frame);
    copy_attribute(code, "co_name", name);
    copy_attribute(code, "co_filename", asker.file);
    Py_DecRef(code);
    asker.is_module = strcmp(name, "<module>") == 0;
    asker.owner = owner_of(asker.file);
    return asker;
}

/*
 * Finds who wants something: the innermost frame that does not act for another one. Whether
 * installed packages act for others, too, depends on what is asked for; while one is imported it
 * acts for itself.
 */
static struct asker find_asker(bool packages_decide)
{
    struct asker asker = {.owner = SUBMISSION};
    bool is_package = false; /* the last frame was the whole file of an installed package */
    for (object *frame = PyEval_GetFrame(); frame; frame = frame_below(frame)) {
        asker = look_at(frame);
        bool is_imported = is_package && begins_with(asker.file, "<frozen importlib");
        if (is_imported)
            asker.owner = PACKAGE;
        is_package = asker.owner == PACKAGE && asker.is_module;
        bool acts_for_others = asker.owner == OURS || asker.owner == STANDARD ||
                               (asker.owner == PACKAGE && !packages_decide);
        if (is_imported || !acts_for_others)
            return asker;
    }
    /*
     * A stack of nothing but the standard library, or of ours in another thread than the first:
     * somebody has set up a thread or a callback.
     */
    if (asker.owner == STANDARD || gettid() != getpid())
        asker.owner = SUBMISSION;
    return asker;
}

/* ---- refusing ---- */

/* Notes a refusal for the judge, and writes it in words to text, of TEXT_NUM_BYTES. */
static void note(const char *file, int line, const char *what, char *text)
{
    const char *slash = strrchr(file, '/');
    snprintf(text, TEXT_NUM_BYTES, "%.100s:%d %s", slash ? slash + 1 : file, line, what);
    if (atomic_fetch_add(&noted->number, 1) == 0)
        snprintf(noted->first, sizeof noted->first, "%s", text);
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

bool refuses_window(const char *what)
{
    return !allows_windows && refuses_call(what);
}

bool is_submission_asking(void)
{
    return find_asker(true).owner == SUBMISSION;
}

int refuse(enum whom whom, const char *what)
{
    struct asker asker = find_asker(whom == BY_ITSELF);
    if (whom != ANYBODY && asker.owner != SUBMISSION)
        return 0;
    char text[TEXT_NUM_BYTES], said[TEXT_NUM_BYTES + 64];
    note(asker.file, asker.line, what, text);
    snprintf(said, sizeof said, "%s; submissions must communicate through mpi4py or torch only",
             text);
    PyErr_SetString(PyExc_PermissionError, said);
    return -1;
}

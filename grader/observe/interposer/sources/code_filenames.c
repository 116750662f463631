/* Who calls is read off the names of files: so code may only be made in a name that is its own. */
#define _GNU_SOURCE
#include "guard.h"

#include <limits.h>
#include <stdio.h>

#include "ownership.h"
#include "refusals.h"

enum { COMPILED_HEADER_NUM_BYTES = 16 };

/* Whether a file that is not the submission's holds these bytes, and no others after its header. */
static bool is_held_by(const char *file, long header_num_bytes, struct bytes bytes)
{
    FILE *opened =
        bytes.start && file[0] == '/' && owner_of(file) != SUBMISSION ? fopen(file, "rbe") : NULL;
    if (!opened)
        return false;
    bool is_held = fseek(opened, header_num_bytes, SEEK_SET) == 0;
    for (ptrdiff_t i = 0; is_held && i < bytes.number; i++)
        is_held = getc_unlocked(opened) == (unsigned char)bytes.start[i];
    is_held = is_held && getc_unlocked(opened) == EOF;
    fclose(opened);
    return is_held;
}

/*
 * Claims of packages come from packages as well, which make variants of their functions. Files of
 * ours and an assignment's are only read; probes may call what is the student's.
 */
static int refuse_claim(enum owner claimed)
{
    if (claimed == SUBMISSION)
        return 0;
    bool is_package = claimed == PACKAGE || claimed == STANDARD;
    return refuse(is_package ? BY_ITSELF : ANYBODY, "makes code under the name of another file");
}

int on_code(object *arguments)
{
    char file[PATH_MAX];
    copy_text(PyTuple_GetItem(arguments, 1), file);
    return refuse_claim(owner_of(file));
}

/* What a file holds may be compiled in its name, as importing it does. */
int on_compile(object *arguments)
{
    char file[PATH_MAX];
    copy_text(PyTuple_GetItem(arguments, 1), file);
    return is_held_by(file, 0, bytes_in(arguments, 0)) ? 0 : on_code(arguments);
}

/* Compiled code names its files: any but the submission's own only where it is read from theirs. */
int on_marshal(object *arguments)
{
    struct bytes bytes = bytes_in(arguments, 0);
    enum owner claimed = bytes.start ? owner_named_in(bytes) : SUBMISSION;
    /* So an import calls the file that it says it has read; what that holds is compared. */
    object *locals = PyEval_GetLocals();
    object *path = locals ? PyMapping_GetItemString(locals, "bytecode_path") : NULL;
    char file[PATH_MAX];
    copy_text(path, file);
    Py_DecRef(path);
    return is_held_by(file, COMPILED_HEADER_NUM_BYTES, bytes) ? 0 : refuse_claim(claimed);
}

/* Who calls is read off the names of files: so code may only be made in a name that is its own. */
#define _GNU_SOURCE
#include "claimed_code.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    size_t number = (size_t)bytes.number;
    char *held = malloc(number + 1);
    bool is_held = held && fseek(opened, header_num_bytes, SEEK_SET) == 0 &&
                   fread(held, 1, number + 1, opened) == number &&
                   memcmp(held, bytes.start, number) == 0;
    free(held);
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
    return refuse(is_package ? BY_ITSELF : ANYBODY,
                  "makes code that claims to come from another file");
}

int on_code(object *arguments)
{
    char file[PATH_MAX];
    copy_argument(arguments, 1, file);
    return refuse_claim(owner_of(file));
}

/* What a file holds may be compiled in its name, as importing it does. */
int on_compile(object *arguments)
{
    char file[PATH_MAX];
    copy_argument(arguments, 1, file);
    return is_held_by(file, 0, bytes_in(arguments, 0)) ? 0 : on_code(arguments);
}

/* Copies the name of the file that an import says it has read; what it holds is compared. */
static void copy_name_of_import(char *file)
{
    object *frame = python.current_frame();
    object *locals = frame ? python.attribute(frame, "f_locals") : NULL;
    object *path = locals ? python.value_of(locals, "bytecode_path") : NULL;
    if (!path)
        python.clear_error();
    copy_text(path, file);
    if (path)
        python.drop_reference(path);
    if (locals)
        python.drop_reference(locals);
}

/* Compiled code names its files: any but the submission's own only where it is read from theirs. */
int on_marshal(object *arguments)
{
    struct bytes bytes = bytes_in(arguments, 0);
    enum owner claimed = bytes.start ? owner_named_in(bytes) : SUBMISSION;
    if (claimed == SUBMISSION)
        return 0;
    char file[PATH_MAX];
    copy_name_of_import(file);
    return is_held_by(file, COMPILED_HEADER_NUM_BYTES, bytes) ? 0 : refuse_claim(claimed);
}

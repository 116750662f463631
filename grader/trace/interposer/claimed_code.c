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

static const char *const CLAIM = "makes code that claims to come from another file";

static int refuse_code(void)
{
    return refuse_submission(CLAIM);
}

int on_code(object *arguments)
{
    char file[PATH_MAX];
    copy_argument(arguments, 1, file);
    /* All probes were compiled before the guard was there. */
    if (is_probes_file(file))
        return refuse_anybody(CLAIM);
    return owner_of(file) == SUBMISSION ? 0 : refuse_code();
}

/* What a file holds may be compiled in its name, as importing it does. */
int on_compile(object *arguments)
{
    char file[PATH_MAX];
    copy_argument(arguments, 1, file);
    return is_held_by(file, 0, bytes_in(arguments, 0)) ? 0 : on_code(arguments);
}

/* Compiled code names its files: any but the submission's own only where it is read from theirs. */
int on_marshal(object *arguments)
{
    struct bytes bytes = bytes_in(arguments, 0);
    if (!bytes.start || !hold_foreign_name(bytes.start, (size_t)bytes.number))
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
    if (is_held_by(file, COMPILED_HEADER_NUM_BYTES, bytes))
        return 0;
    bool claims_probes = hold_probes_name(bytes.start, (size_t)bytes.number);
    return claims_probes ? refuse_anybody(CLAIM) : refuse_code();
}

int on_marshal_file(object *arguments)
{
    (void)arguments;
    return refuse_submission("reads what may be code from a file (marshal)");
}

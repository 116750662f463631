/* Refuses to student code what goes around MPI and torch: C libraries, other programs. */
#ifndef GRADER_GUARD_H
#define GRADER_GUARD_H

#include "python.h"

/*
 * Called once by the harness, before any student code runs. trace_fd: the trace memory, where
 * refusals are noted. beginnings_by_owner: how names of files begin that are not the submission's,
 * each in a line; an empty line ends those of an owner. Returns 0, or -1 where it cannot work.
 */
__attribute__((visibility("default"))) int grader_guard(int trace_fd,
                                                        const char *beginnings_by_owner);

/* Answers to events: on code that claims to be of another file (code_filenames.c), on mappings. */
int on_code(object *arguments);
int on_compile(object *arguments);
int on_marshal(object *arguments);
int on_mapping(object *arguments);

#endif

/*
 * Whose a file of Python's is, told by how its name begins.
 *
 * The harness says the names through guard.c; the other files of the guard ask, and phases.c.
 */
#ifndef GRADER_OWNERSHIP_H
#define GRADER_OWNERSHIP_H

#include <stdbool.h>

#include "python.h"

/* In the order of rank/guard.py: all but the submission have names that their files begin with. */
enum owner { OURS, PROBES, SUPPORT, PACKAGE, STANDARD, SUBMISSION };

/* Keeps how names begin, as grader_guard is told; returns false when out of memory. */
bool know_files(const char *beginnings_by_owner);
/* Whether know_files has been called. */
bool knows_own_files(void);

enum owner owner_of(const char *file);
/* Returns who owns a file that these bytes name, as compiled code does; SUBMISSION for none. */
enum owner owner_named_in(struct bytes bytes);

/* Whether a library or compiled module came with the machine, not with the submission. */
bool is_installed(const char *path);

#endif

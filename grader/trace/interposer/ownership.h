/*
 * Whose a file of Python's is, told by the folder that it lies in.
 *
 * The harness says the folders through guard.c; the other files of the guard ask, and phases.c.
 */
#ifndef GRADER_OWNERSHIP_H
#define GRADER_OWNERSHIP_H

#include <stdbool.h>

#include "python.h"

/* All but the submission have names that their files begin with. */
enum owner { OURS, SUPPORT, PACKAGE, STANDARD, SUBMISSION };

/*
 * Keeps the folders of the harness, of the files that an assignment gives, of installed packages
 * and of Python's standard library, each ended by a line break. Returns false when out of memory.
 */
bool know_folders(const char *own, const char *support, const char *installed,
                  const char *standard);

enum owner owner_of(const char *file);

/* Returns who owns a file that these bytes name, as compiled code does; SUBMISSION for none. */
enum owner owner_named_in(struct bytes bytes);

/* Whether know_folders has been called, and whether the file is one of the harness, or a probe. */
bool knows_own_files(void);
bool is_own_file(const char *file);
bool is_probes_file(const char *file);

/* Whether a library or compiled module came with the machine, not with the submission. */
bool is_installed(const char *path);

#endif

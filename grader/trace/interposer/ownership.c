/* The folders of everybody but the submission, and what lies in them. */
#define _GNU_SOURCE
#include "ownership.h"

#include <stdio.h>
#include <string.h>

#include "text.h"

/* How the names of files in no folder begin: the course's probes, and parts of Python itself. */
#define PROBES "<probes"
#define FROZEN "<frozen "

/* By owner: how the names of its files begin, each ended by a line break. */
static char *beginnings[SUBMISSION];

bool know_folders(const char *own, const char *support, const char *installed, const char *standard)
{
    return asprintf(&beginnings[OURS], "%s", own) >= 0 &&
           asprintf(&beginnings[SUPPORT], "%s" PROBES "\n", support) >= 0 &&
           asprintf(&beginnings[PACKAGE], "%s", installed) >= 0 &&
           asprintf(&beginnings[STANDARD], "%s" FROZEN "\n", standard) >= 0;
}

/* Whether a path may lead out of the folders that it begins with: /given/../submission. */
static bool is_roundabout(const char *path)
{
    return strstr(path, "//") || strstr(path, "/./") || strstr(path, "/../") ||
           ends_with(path, "/.") || ends_with(path, "/..");
}

typedef bool comparison(struct bytes text, const char *beginning, size_t num_bytes);

static bool begins(struct bytes text, const char *beginning, size_t num_bytes)
{
    return (size_t)text.number >= num_bytes && memcmp(text.start, beginning, num_bytes) == 0;
}

static bool holds(struct bytes text, const char *beginning, size_t num_bytes)
{
    return memmem(text.start, (size_t)text.number, beginning, num_bytes) != NULL;
}

/* Returns the first owner with a beginning for which the comparison says yes. */
static enum owner find_owner(struct bytes text, comparison *compare)
{
    for (enum owner owner = OURS; owner < SUBMISSION; owner++) {
        const char *line = beginnings[owner];
        for (const char *end; (end = strchr(line, '\n')); line = end + 1)
            if (end != line && compare(text, line, (size_t)(end - line)))
                return owner;
    }
    return SUBMISSION;
}

/*
 * Parts of the standard library that use C memory or other programs in ways of their own, whoever
 * calls them: shared numbers between processes, and what a machine is called.
 */
static bool acts_for_itself(const char *file)
{
    return ends_with(file, "/multiprocessing/sharedctypes.py") || ends_with(file, "/platform.py") ||
           ends_with(file, "/uuid.py");
}

enum owner owner_of(const char *file)
{
    if (is_roundabout(file))
        return SUBMISSION;
    enum owner owner = find_owner((struct bytes){file, (ptrdiff_t)strlen(file)}, begins);
    return owner == STANDARD && acts_for_itself(file) ? PACKAGE : owner;
}

enum owner owner_named_in(struct bytes bytes)
{
    return find_owner(bytes, holds);
}

bool knows_own_files(void)
{
    return beginnings[STANDARD] != NULL;
}

bool is_own_file(const char *file)
{
    return owner_of(file) == OURS;
}

bool is_probes_file(const char *file)
{
    return begins_with(file, PROBES);
}

static bool is_of_the_machine(const char *path)
{
    return begins_with(path, "/lib/") || begins_with(path, "/lib64/") ||
           begins_with(path, "/usr/lib/") || begins_with(path, "/usr/local/lib/");
}

bool is_installed(const char *path)
{
    enum owner owner = owner_of(path);
    if (owner == SUBMISSION)
        return is_of_the_machine(path) && !is_roundabout(path);
    return owner != SUPPORT && path[0] == '/';
}

/* The folders of everybody but the submission, and what lies in them. */
#define _GNU_SOURCE
#include "ownership.h"

#include <stdlib.h>
#include <string.h>

#include "text.h"

static struct {
    char *own;
    char *support;
    char *installed;
    char *standard;
} known;

/* How the names of files in no folder begin: the course's probes, and parts of Python itself. */
#define PROBES "<probes"
#define FROZEN "<frozen "

bool know_folders(const char *own, const char *support, const char *installed, const char *standard)
{
    known.own = strdup(own);
    known.support = strdup(support);
    known.installed = strdup(installed);
    known.standard = strdup(standard);
    return known.own && known.support && known.installed && known.standard;
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

/*
 * Parts of the standard library that use C memory or other programs in ways of their own, whoever
 * calls them: shared numbers between processes, and what a machine is called.
 */
static bool acts_for_itself(const char *file)
{
    return ends_with(file, "/multiprocessing/sharedctypes.py") || ends_with(file, "/platform.py") ||
           ends_with(file, "/uuid.py");
}

bool is_probes_file(const char *file)
{
    return begins_with(file, PROBES);
}

enum owner owner_of(const char *file)
{
    if (is_in(file, known.own))
        return OURS;
    if (is_in(file, known.support) || is_probes_file(file))
        return SUPPORT;
    if (is_in(file, known.installed))
        return PACKAGE;
    if (is_in(file, known.standard))
        return acts_for_itself(file) ? PACKAGE : STANDARD;
    return begins_with(file, FROZEN) ? STANDARD : SUBMISSION;
}

bool knows_own_files(void)
{
    return known.own != NULL;
}

bool is_own_file(const char *file)
{
    return is_in(file, known.own);
}

static bool is_standard_library_path(const char *path)
{
    return begins_with(path, "/lib/") || begins_with(path, "/lib64/") ||
           begins_with(path, "/usr/lib/") || begins_with(path, "/usr/local/lib/");
}

bool is_installed(const char *path)
{
    return is_in(path, known.installed) || is_in(path, known.standard) || is_in(path, known.own) ||
           (is_standard_library_path(path) && !is_roundabout(path));
}

static bool hold(const char *bytes, size_t num_bytes, const char *text, size_t text_num_bytes)
{
    return memmem(bytes, num_bytes, text, text_num_bytes) != NULL;
}

static bool hold_one_of(const char *bytes, size_t num_bytes, const char *names)
{
    for (const char *end; (end = strchr(names, '\n')); names = end + 1)
        if (end != names && hold(bytes, num_bytes, names, (size_t)(end - names)))
            return true;
    return false;
}

bool hold_probes_name(const char *bytes, size_t num_bytes)
{
    return hold(bytes, num_bytes, PROBES, strlen(PROBES));
}

bool hold_foreign_name(const char *bytes, size_t num_bytes)
{
    return hold_probes_name(bytes, num_bytes) || hold(bytes, num_bytes, FROZEN, strlen(FROZEN)) ||
           hold_one_of(bytes, num_bytes, known.own) ||
           hold_one_of(bytes, num_bytes, known.support) ||
           hold_one_of(bytes, num_bytes, known.installed) ||
           hold_one_of(bytes, num_bytes, known.standard);
}

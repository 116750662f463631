/* The beginnings of names of everybody's files but the submission's, and what begins with them. */
#define _GNU_SOURCE
#include "ownership.h"

#include <string.h>

#include "text.h"

/* Each in a line; an empty line ends those of an owner. */
static const char *beginnings = "";

bool know_files(const char *beginnings_by_owner)
{
    const char *kept = strdup(beginnings_by_owner);
    if (kept)
        beginnings = kept;
    return kept != NULL;
}

bool knows_own_files(void)
{
    return beginnings[0] != '\0';
}

/* Whether a path may lead out of the folders that it begins with: /given/../submission. */
static bool is_roundabout(const char *path)
{
    return strstr(path, "//") || strstr(path, "/./") || strstr(path, "/../") ||
           ends_with(path, "/.") || ends_with(path, "/..");
}

/* Returns the first owner with a beginning that the text begins with, or has anywhere. */
static enum owner find_owner(struct bytes text, bool anywhere)
{
    enum owner owner = OURS;
    const char *line = beginnings;
    for (const char *end; (end = strchr(line, '\n')); line = end + 1) {
        const char *found = memmem(text.start, (size_t)text.number, line, (size_t)(end - line));
        if (end == line)
            owner++;
        else if (found == text.start || (found && anywhere))
            return owner;
    }
    return SUBMISSION;
}

enum owner owner_of(const char *file)
{
    struct bytes name = {file, (ptrdiff_t)strlen(file)};
    return is_roundabout(file) ? SUBMISSION : find_owner(name, false);
}

enum owner owner_named_in(struct bytes bytes)
{
    return find_owner(bytes, true);
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

/* Follows paths to /proc, as far as an audit event tells where they begin. */
#define _GNU_SOURCE
#include "process_paths.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "text.h"

/*
 * Whether a path names memory or descriptors of a process, or tells where in its memory things
 * are: /proc/1/mem, /proc/1/fd/3, /proc/1/maps.
 */
static bool is_inside_process(const char *path)
{
    if (begins_with(path, "/dev/fd/"))
        return true;
    return begins_with(path, "/proc/") && (ends_with(path, "/mem") || ends_with(path, "maps") ||
                                           strstr(path, "/fd/") || strstr(path, "/map_files"));
}

/* Whether a path does so once its links are followed: all, or all but the last, for fd/3 is one. */
static bool leads_inside_process(const char *path)
{
    char whole[PATH_MAX], folder[PATH_MAX], resolved[PATH_MAX];
    if (realpath(path, whole) && is_inside_process(whole))
        return true;
    const char *slash = strrchr(path, '/');
    if (slash)
        snprintf(folder, sizeof folder, "%.*s/", (int)(slash - path), path);
    if (!realpath(slash ? folder : ".", resolved))
        return false;
    snprintf(whole, sizeof whole, "%.3000s/%.1000s", resolved, slash ? slash + 1 : path);
    return is_inside_process(whole);
}

static bool is_on_proc(int folder, const char *path, int flags)
{
    struct statfs system;
    int found = openat(folder, path, O_PATH | O_CLOEXEC | flags);
    bool is = found >= 0 && fstatfs(found, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
    if (found >= 0)
        close(found);
    return is;
}

/*
 * Events do not tell from which open folder a path goes (dir_fd), so it is tried from each. To
 * follow its names takes long in a deep folder, and is worth it on /proc only.
 */
static bool leads_inside_from_open_folder(const char *path)
{
    DIR *descriptors = path[0] == '/' ? NULL : opendir("/proc/self/fd");
    bool leads = false;
    for (struct dirent *entry; descriptors && !leads && (entry = readdir(descriptors));) {
        int folder = entry->d_name[0] == '.' ? -1 : atoi(entry->d_name);
        if (folder < 0 || folder == dirfd(descriptors) ||
            !(is_on_proc(folder, path, 0) || is_on_proc(folder, path, O_NOFOLLOW)))
            continue;
        char whole[PATH_MAX];
        snprintf(whole, sizeof whole, "/proc/self/fd/%d/%.4000s", folder, path);
        leads = leads_inside_process(whole);
    }
    if (descriptors)
        closedir(descriptors);
    return leads;
}

bool leads_into_process(const char *path)
{
    return is_inside_process(path) || leads_inside_process(path) ||
           leads_inside_from_open_folder(path);
}

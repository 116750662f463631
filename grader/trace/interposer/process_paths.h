/* Which paths lead into the memory or the descriptors of a process; asked by guard.c. */
#ifndef GRADER_PROCESS_PATHS_H
#define GRADER_PROCESS_PATHS_H

#include <stdbool.h>

/* Whether the path does so as it stands, once its links are followed, or from an open folder. */
bool leads_into_process(const char *path);

#endif

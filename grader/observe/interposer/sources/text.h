/* How names of files and functions begin and end; for the files of the guard. */
#ifndef GRADER_TEXT_H
#define GRADER_TEXT_H

#include <stdbool.h>
#include <string.h>

static inline bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

static inline bool ends_with(const char *text, const char *end)
{
    size_t text_num_bytes = strlen(text), end_num_bytes = strlen(end);
    return text_num_bytes >= end_num_bytes &&
           strcmp(text + text_num_bytes - end_num_bytes, end) == 0;
}

#endif

/* Refuses to a submission memory that may be run, which Python's mmap can map. */
#ifndef GRADER_EXECUTABLE_MEMORY_H
#define GRADER_EXECUTABLE_MEMORY_H

/* The next memory that this thread maps is what Python has just announced. */
void expect_mapping(void);

#endif

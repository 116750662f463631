/*
 * Finds out who asks for something, and refuses it to the submission: with a note for the judge.
 *
 * The guard's files refuse what Python code does; wrappers refuse MPI calls.
 */
#ifndef GRADER_REFUSALS_H
#define GRADER_REFUSALS_H

#include <stdbool.h>

enum { TEXT_NUM_BYTES = 512 };

/* Maps the part of the trace memory where refusals are noted; returns false where it cannot. */
bool attach_refusals(int trace_fd);

enum whom {
    BY_ITSELF,  /* the submission; packages load what they need */
    INDIRECTLY, /* the submission, also by way of a package */
    ANYBODY,    /* whoever asks, once the guard is there */
};

/*
 * Refuses something, as `starts another program`, if these ask for it. Returns what an audit hook
 * returns: 0, or -1 with Python's error set.
 */
int refuse(enum whom whom, const char *what);
/* Whether it is the submission that asks by itself. */
bool is_submission_asking(void);

/*
 * Whether the call of an MPI function that the program makes now is refused, because the guard is
 * there. what: as `calls Comm_spawn`.
 */
bool refuses_call(const char *what);
/* The same for what needs memory that ranks share, unless GRADER_WINDOWS allows it. */
bool refuses_window(const char *what);

#endif

/* Refuses to student code what goes around MPI and torch: C libraries, other programs. */
#ifndef GRADER_GUARD_H
#define GRADER_GUARD_H

/*
 * Called once by the harness, before any student code runs. trace_fd: the trace memory, where
 * refusals are noted. own, support, installed, standard: folders of the harness, of the files that
 * an assignment gives, of installed packages and of Python's standard library, each ended by a line
 * break. Returns 0, or -1 where it cannot work.
 */
__attribute__((visibility("default"))) int grader_guard(int trace_fd, const char *own,
                                                        const char *support, const char *installed,
                                                        const char *standard);

#endif

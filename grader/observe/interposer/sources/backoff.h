/* How a rank waits inside of MPI. Called by the recorder, which sees every call that may wait. */
#ifndef GRADER_BACKOFF_H
#define GRADER_BACKOFF_H

/* Around each call, on the thread that makes it; polls are no such calls. */
void begin_backoff(void);
void end_backoff(void);

#endif

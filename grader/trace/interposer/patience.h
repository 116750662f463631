/* How a rank waits inside of MPI. Called by the recorder, which sees every call that may wait. */
#ifndef GRADER_PATIENCE_H
#define GRADER_PATIENCE_H

/* Around each call, on the thread that makes it; polls are no such calls. */
void may_wait(void);
void waits_no_more(void);

#endif

/*
 * How a rank waits inside of MPI: the longer, the less often it looks.
 *
 * Open MPI looks for messages without a pause, and yields the core in between. Where there are more
 * ranks than cores that costs the ranks that work nearly as much as it would not to yield: each
 * look is a change of process. Its other strategy sleeps the same time after each look, also where
 * the message comes at once.
 */
#define _GNU_SOURCE
#include "backoff.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tables.h"

/* Of the time that a rank has waited; a message is seen at most that much later. */
enum { SHARE = 4 };
/* What is shorter takes as long as a change of process does. */
enum { SHORTEST_NS = 20000, LONGEST_NS = 1000000 };

static _Thread_local struct {
    bool is_in_call;
    uint64_t since_ns; /* of the first look in vain; 0 before it */
} waiting;

void begin_backoff(void)
{
    waiting.is_in_call = true;
    waiting.since_ns = 0;
}

void end_backoff(void)
{
    waiting.is_in_call = false;
}

/* Exported, so that Open MPI finds it before the one of the C library. */
int sched_yield(void)
{
    if (waiting.is_in_call) {
        uint64_t now = now_ns();
        if (!waiting.since_ns)
            waiting.since_ns = now;
        uint64_t pause_ns = (now - waiting.since_ns) / SHARE;
        if (pause_ns > LONGEST_NS)
            pause_ns = LONGEST_NS;
        if (pause_ns >= SHORTEST_NS) {
            struct timespec pause = {0, (long)pause_ns};
            return nanosleep(&pause, NULL);
        }
    }
    return (int)syscall(SYS_sched_yield);
}

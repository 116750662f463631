/*
 * How a rank waits inside of MPI: the longer nothing has moved, the less often it looks.
 *
 * Open MPI looks for messages without a pause, and yields the core in between. Where there are more
 * ranks than cores, each look is a change of process, and most of what the machine does. Its other
 * strategy sleeps after each look, also where the message comes at once, which slows down whatever
 * sends many. Here a rank that has just started to wait only yields, as does one whose long message
 * comes piece by piece.
 */
#define _GNU_SOURCE
#include "backoff.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lock_and_clock.h"

/* Of the time that a rank has waited: a message is seen at most that much later. */
enum { SHARE = 4 };
/* What is shorter takes as long as a change of process does. */
enum { SHORTEST_NS = 50000, LONGEST_NS = 1000000 };
/* Between two looks in vain; what takes longer has moved a piece of a message. */
enum { LOOK_NS = 2000 };

static _Thread_local struct {
    bool is_in_call;
    uint64_t since_ns;  /* of the first look in vain since something moved */
    uint64_t looked_ns; /* end of the last one; 0 before the first */
} waiting;

void begin_backoff(void)
{
    waiting.is_in_call = true;
    waiting.looked_ns = 0;
}

void end_backoff(void)
{
    waiting.is_in_call = false;
}

/* Returns how long to sleep before the next look; 0 for not at all. */
static uint64_t pause_ns(uint64_t now)
{
    if (now - waiting.looked_ns > LOOK_NS)
        waiting.since_ns = now;
    uint64_t share_ns = (now - waiting.since_ns) / SHARE;
    return share_ns < SHORTEST_NS ? 0 : share_ns < LONGEST_NS ? share_ns : LONGEST_NS;
}

/* Exported, so that Open MPI finds it before the one of the C library. */
int sched_yield(void)
{
    if (!waiting.is_in_call)
        return (int)syscall(SYS_sched_yield);
    struct timespec pause = {0, (long)pause_ns(now_ns())};
    int error = pause.tv_nsec ? nanosleep(&pause, NULL) : (int)syscall(SYS_sched_yield);
    waiting.looked_ns = now_ns();
    return error;
}

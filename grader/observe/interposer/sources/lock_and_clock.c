/* A lock that is held for a few instructions only, and what else tables need. */
#define _GNU_SOURCE
#include "lock_and_clock.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static _Atomic int spin_lock;

void lock_tables(void)
{
    while (atomic_exchange_explicit(&spin_lock, 1, memory_order_acquire))
        sched_yield();
}

void unlock_tables(void)
{
    atomic_store_explicit(&spin_lock, 0, memory_order_release);
}

void *allocate(size_t num_bytes)
{
    void *memory_block = malloc(num_bytes ? num_bytes : 1);
    if (!memory_block) {
        fputs("grader: out of memory while following MPI calls\n", stderr);
        abort();
    }
    return memory_block;
}

uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

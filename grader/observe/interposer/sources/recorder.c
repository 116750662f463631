/* From the start of a call to its end. */
#include "recorder.h"

#include "backoff.h"
#include "lock_and_clock.h"
#include "phases.h"
#include "polls.h"
#include "trace_memory.h"

/*
 * MPI itself, and callbacks that it makes, may call MPI functions: what happens inside a call
 * that we record is not recorded again.
 */
static _Thread_local struct {
    int depth;
    bool is_polling;
    int phase;                /* of the call that it is in */
    struct location location; /* of that call */
} thread;

/* ---- whether calls are recorded ---- */

bool is_recording(void)
{
    return is_attached() && thread.depth == 0 && phase_of_call() != PHASE_PAUSED;
}

bool sends_are_synchronous(void)
{
    return is_recording() &&
           atomic_load_explicit(&memory.header->synchronous_sends, memory_order_relaxed) != 0;
}

bool is_own_rank(MPI_Comm comm, int rank)
{
    return is_recording() && communicator_of(comm)->own_rank == rank;
}

/* ---- calls ---- */

static uint64_t begin(const struct details *details, struct waited waited)
{
    struct entry entry = entry_of(details, thread.location, thread.phase);
    lock_tables();
    uint64_t sequence = write_record(&entry, waited, now_ns());
    forget_open_polls();
    atomic_store_explicit(&memory.header->inside, sequence + 1, memory_order_release);
    unlock_tables();
    return sequence;
}

/*
 * Calls inside another one leave no record: MPI itself makes some. Notes those that a function of
 * the program makes which MPI has called, for an attribute or a reduction.
 */
static void note_nested_call(void)
{
    if (thread.depth == 0 || !is_attached() || phase_of_call() == PHASE_PAUSED)
        return;
    struct location location = python_location();
    if (location.file != thread.location.file || location.line != thread.location.line)
        atomic_fetch_add(&memory.header->num_nested, 1);
}

uint64_t begin_call(const struct details *details, struct waited waited)
{
    if (!is_recording()) {
        note_nested_call();
        return NOT_RECORDED;
    }
    count_thread();
    thread.location = python_location();
    thread.phase = enter_phase();
    thread.depth++;
    begin_backoff();
    return begin(details, waited);
}

uint64_t also_begin(uint64_t first, const struct details *details)
{
    if (first == NOT_RECORDED)
        return NOT_RECORDED;
    return begin(details, NOTHING_WAITED);
}

void also_end(uint64_t sequence, int error)
{
    lock_tables();
    struct record *record = record_of(sequence);
    if (record) {
        record->error = error;
        record->left_ns = now_ns();
    }
    unlock_tables();
}

void end_call(uint64_t sequence, int error)
{
    if (sequence == NOT_RECORDED)
        return;
    thread.depth--;
    end_backoff();
    also_end(sequence, error);
    if (!memory.header)
        return;
    leave_phase(thread.phase);
    atomic_fetch_add_explicit(&memory.header->progress, 1, memory_order_relaxed);
    atomic_store_explicit(&memory.header->inside, 0, memory_order_release);
}

/* ---- what leaves no record ---- */

void note_message_of_mpi(void)
{
    if (thread.depth == 0 && !thread.is_polling && is_attached() &&
        atomic_load(&memory.header->initialised) && phase_of_call() != PHASE_PAUSED)
        atomic_fetch_add(&memory.header->num_beside_calls, 1);
}

/* ---- polls ---- */

uint64_t begin_poll(void)
{
    thread.is_polling = true;
    return now_ns();
}

void end_poll(void)
{
    thread.is_polling = false;
}

uint64_t record_poll(const struct details *details, struct waited waited, uint64_t begun_ns,
                     enum poll_result result, int error)
{
    end_poll();
    if (!is_recording())
        return NOT_RECORDED;
    count_thread();
    thread.location = python_location();
    thread.phase = enter_phase();
    if (result != POLL_FOUND && error == MPI_SUCCESS) {
        struct entry entry = entry_of(details, thread.location, thread.phase);
        record_idle_poll(&entry, waited, begun_ns, result == POLL_EMPTY);
        return NOT_RECORDED;
    }
    thread.depth++;
    uint64_t sequence = begin(details, waited);
    lock_tables();
    struct record *record = record_of(sequence);
    if (record)
        record->entered_ns = begun_ns;
    unlock_tables();
    end_call(sequence, error);
    return sequence;
}

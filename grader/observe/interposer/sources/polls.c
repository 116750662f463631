/* The table of polls that may go on. */
#include "polls.h"

#include "lock_and_clock.h"
#include "trace_memory.h"

/* The polls that came back empty since the last call that did something. */
static struct {
    uint64_t sequence;
    struct details details;
    struct location location;
} open_polls[32];
static size_t num_open_polls;
static size_t next_open_poll;

static bool is_same_poll(size_t index, const struct entry *entry)
{
    const struct details *details = entry->details, *other = &open_polls[index].details;
    return other->function == details->function && other->peer == details->peer &&
           other->tag == details->tag && other->comm == details->comm &&
           open_polls[index].location.line == entry->location.line &&
           open_polls[index].location.file == entry->location.file;
}

/* Adds what this poll waited on and the record does not name yet, while its list is the last. */
static void widen_waits(struct record *record, struct waited waited)
{
    for (size_t i = 0; i < waited.number && record->num_waits < MAX_WAITED; i++) {
        uint64_t end = record->first_wait + record->num_waits;
        bool is_known = false;
        for (uint64_t j = record->first_wait; j < end && !is_known; j++)
            is_known = memory.waits[j & (memory.num_waits - 1)] == waited.sequences[i];
        if (!is_known && end == atomic_load(&memory.header->num_waits_reserved))
            append_waits(record, (struct waited){&waited.sequences[i], 1});
    }
}

/* Counts a poll in the record of an earlier one like it; returns false if there is none. */
static bool count_in_open_poll(const struct entry *entry, struct waited waited, bool is_empty)
{
    for (size_t i = 0; i < num_open_polls; i++) {
        struct record *record = record_of(open_polls[i].sequence);
        if (!record || !is_same_poll(i, entry))
            continue;
        widen_waits(record, waited);
        record->failed_polls += is_empty && record->failed_polls < UINT32_MAX;
        record->left_ns = now_ns();
        return true;
    }
    return false;
}

static void open_poll(uint64_t sequence, const struct entry *entry)
{
    size_t capacity = sizeof open_polls / sizeof *open_polls;
    size_t index = num_open_polls < capacity ? num_open_polls++ : next_open_poll++ % capacity;
    open_polls[index].sequence = sequence;
    open_polls[index].details = *entry->details;
    open_polls[index].location = entry->location;
}

void record_idle_poll(const struct entry *entry, struct waited waited, uint64_t begun_ns,
                      bool is_empty)
{
    lock_tables();
    if (is_empty) {
        atomic_fetch_add_explicit(&memory.header->num_failed_polls, 1, memory_order_relaxed);
        atomic_store_explicit(&memory.header->polling, 1, memory_order_relaxed);
    }
    if (!count_in_open_poll(entry, waited, is_empty)) {
        uint64_t sequence = write_record(entry, waited, begun_ns);
        struct record *record = record_of(sequence);
        record->failed_polls = is_empty;
        record->left_ns = now_ns();
        open_poll(sequence, entry);
    }
    unlock_tables();
}

void forget_open_polls(void)
{
    num_open_polls = 0;
    atomic_store_explicit(&memory.header->polling, 0, memory_order_relaxed);
}

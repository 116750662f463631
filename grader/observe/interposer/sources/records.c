/* Records as the judge reads them, while we write. */
#include "records.h"

#include "lock_and_clock.h"
#include "trace_memory.h"

const struct waited NOTHING_WAITED = {NULL, 0};

/* ---- writing ---- */

struct record *record_of(uint64_t sequence)
{
    if (sequence == NOT_RECORDED || !memory.header)
        return NULL;
    struct record *record = &memory.records[sequence & (memory.num_records - 1)];
    return atomic_load_explicit(&record->stamp, memory_order_relaxed) == sequence + 1 ? record
                                                                                      : NULL;
}

/* A reader compares num_waits_reserved before and after it copies, so it is raised first. */
void append_waits(struct record *record, struct waited waited)
{
    uint64_t end = record->first_wait + record->num_waits;
    atomic_store_explicit(&memory.header->num_waits_reserved, end + waited.number,
                          memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    for (size_t i = 0; i < waited.number; i++)
        memory.waits[(end + i) & (memory.num_waits - 1)] = waited.sequences[i];
    atomic_thread_fence(memory_order_release);
    record->num_waits += (uint32_t)waited.number;
}

struct entry entry_of(const struct details *details, struct location location, int phase)
{
    int64_t num_bytes = num_bytes_of(details);
    return (struct entry){
        .details = details,
        .communicator =
            details->communicator ? details->communicator : communicator_of(details->comm),
        .num_bytes = num_bytes,
        .samples = samples_of(details, num_bytes),
        .location = location,
        .phase = phase,
    };
}

uint64_t write_record(const struct entry *entry, struct waited waited, uint64_t begun_ns)
{
    const struct details *details = entry->details;
    struct header *header = memory.header;
    uint64_t sequence = atomic_load_explicit(&header->num_reserved, memory_order_relaxed);
    struct record *record = &memory.records[sequence & (memory.num_records - 1)];
    if (sequence >= memory.num_records && record->phase == PHASE_STUDENT)
        memory.overwritten[record->function % memory.num_name_bytes / NAME_NUM_BYTES] = *record;
    atomic_store_explicit(&header->num_reserved, sequence + 1, memory_order_relaxed);
    atomic_store_explicit(&record->stamp, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    const struct samples *samples = &entry->samples;
    *record = (struct record){
        .entered_ns = begun_ns,
        .num_elements = details->num_elements,
        .num_bytes = entry->num_bytes,
        .received_num_bytes = -1,
        .communicator = entry->communicator->id,
        .communicator_size = entry->communicator->size,
        .first_wait = atomic_load_explicit(&header->num_waits_reserved, memory_order_relaxed),
        .function = details->function,
        .file = entry->location.file,
        .line = entry->location.line,
        .place = entry->location.place,
        .peer = details->communicator ? details->world_peer
                                      : world_peer(entry->communicator, details->peer),
        .tag = details->tag == MPI_ANY_TAG ? TRACE_ANY_TAG : details->tag,
        .matched_source = TRACE_NO_PEER,
        .matched_tag = TRACE_ANY_TAG,
        .phase = entry->phase,
        .flags = details->flags | (sends_pickle(details) ? PICKLED : 0u),
        .sampled_num_bytes = samples->num_bytes,
        .sample_first = samples->first,
        .sample_middle = samples->middle,
        .sample_last = samples->last,
    };
    if (waited.number)
        append_waits(record, waited);
    atomic_store_explicit(&record->stamp, sequence + 1, memory_order_release);
    atomic_store_explicit(&header->num_published, sequence + 1, memory_order_release);
    return sequence;
}

/* ---- what became of a call ---- */

void wait_for_each_other(const uint64_t *sequences, size_t number)
{
    if (number == 0 || sequences[0] == NOT_RECORDED)
        return;
    struct waited waited = {sequences, number};
    lock_tables();
    uint64_t shared =
        atomic_load_explicit(&memory.header->num_waits_reserved, memory_order_relaxed);
    for (size_t i = 0; i < number; i++) {
        struct record *record = record_of(sequences[i]);
        if (!record)
            continue;
        record->first_wait = shared;
        if (i == 0)
            append_waits(record, waited);
        else
            record->num_waits = (uint32_t)number;
    }
    unlock_tables();
}

void mark_completed(uint64_t sequence, int error)
{
    lock_tables();
    struct record *record = record_of(sequence);
    if (record) {
        record->completed_ns = now_ns();
        if (error != MPI_SUCCESS)
            record->error = error;
    }
    unlock_tables();
}

static bool learns_of_message(uint64_t sequence)
{
    lock_tables();
    const struct record *record = record_of(sequence);
    bool learns = record && record->flags & (IS_RECEIVE | IS_PROBE);
    unlock_tables();
    return learns;
}

void mark_matched(uint64_t sequence, const struct communicator *communicator,
                  const MPI_Status *status)
{
    if (!learns_of_message(sequence))
        return;
    MPI_Count num_bytes = MPI_UNDEFINED;
    real.Get_elements_x(status, MPI_BYTE, &num_bytes);
    lock_tables();
    struct record *record = record_of(sequence);
    if (record) {
        record->matched_source = world_peer(communicator, status->MPI_SOURCE);
        record->matched_tag = status->MPI_TAG == MPI_ANY_TAG ? TRACE_ANY_TAG : status->MPI_TAG;
        record->received_num_bytes = num_bytes == MPI_UNDEFINED ? -1 : (int64_t)num_bytes;
    }
    unlock_tables();
}

void add_flags(uint64_t sequence, uint32_t flags)
{
    lock_tables();
    struct record *record = record_of(sequence);
    if (record)
        record->flags |= flags;
    unlock_tables();
}

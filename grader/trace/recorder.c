/* The trace memory as this rank writes it. */
#define _GNU_SOURCE
#include "recorder.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "communicators.h"
#include "guard.h"
#include "location.h"
#include "pickles.h"
#include "monitoring.h"

#define FD_VARIABLE "GRADER_TRACE_FD"

/* The parts of the judge's memory; header is NULL until it is mapped, and in forked children. */
static struct {
    struct header *header;
    char *names;
    uint64_t *waits;
    struct record *records;
    uint64_t num_records;
    uint64_t num_waits;
    uint64_t num_name_bytes;
} memory;

static _Atomic int phase;
static _Atomic bool is_retired;
const struct waited NOTHING_WAITED = {NULL, 0};

/* ---- threads ---- */

/*
 * MPI itself, and callbacks that it makes, may call MPI functions: what happens inside a call
 * that we record is not recorded again.
 */
static _Thread_local struct {
    bool is_counted;
    int depth;
    int phase; /* of the call that it is in */
} thread;

static pthread_key_t thread_end;
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

/* Only threads that use MPI count: the judge must not take one that computes for stuck. */
static void count_thread(void)
{
    if (thread.is_counted)
        return;
    thread.is_counted = true;
    pthread_setspecific(thread_end, memory.header);
    atomic_fetch_add(&memory.header->num_threads, 1);
}

static void uncount_thread(void *header)
{
    if (header == memory.header)
        atomic_fetch_sub(&memory.header->num_threads, 1);
}

/* A child that a rank forks shares the memory, but is not the rank. */
static void detach_child(void)
{
    memory.header = NULL;
    atomic_store(&spin_lock, 0);
}

/* ---- attaching ---- */

static bool is_power_of_two(uint64_t number)
{
    return number && !(number & (number - 1));
}

/* Returns the descriptor that the environment names; -1 when it names none. */
static int descriptor_of_environment(void)
{
    const char *text = getenv(FD_VARIABLE);
    if (!text || !*text)
        return -1;
    char *end;
    errno = 0;
    long fd = strtol(text, &end, 10);
    return errno || *end || fd < 0 || fd > INT_MAX ? -1 : (int)fd;
}

/* Whether this is a memory of our judge, as long as its header says. */
static bool is_trace_memory(const struct header *header, uint64_t num_bytes)
{
    if (header->judge_magic != JUDGE_MAGIC || !is_power_of_two(header->num_records) ||
        !is_power_of_two(header->num_waits) || header->num_records > UINT32_MAX ||
        header->num_waits > UINT32_MAX || header->num_name_bytes > UINT32_MAX)
        return false;
    return num_bytes >= HEADER_NUM_BYTES + header->num_name_bytes +
                            header->num_waits * sizeof *memory.waits +
                            header->num_records * sizeof *memory.records;
}

void attach_memory(void)
{
    static const char function_names[] = FUNCTION_NAMES;
    struct stat status;
    int fd = descriptor_of_environment();
    if (fd < 0 || memory.header || fstat(fd, &status) || status.st_size < HEADER_NUM_BYTES)
        return;
    size_t num_bytes = (size_t)status.st_size;
    char *start = mmap(NULL, num_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (start == MAP_FAILED)
        return;
    struct header *header = (struct header *)start;
    if (!is_trace_memory(header, num_bytes) || header->num_name_bytes < sizeof function_names) {
        munmap(start, num_bytes);
        return;
    }
    close(fd);
    memory.num_records = header->num_records;
    memory.num_waits = header->num_waits;
    memory.num_name_bytes = header->num_name_bytes;
    memory.names = start + HEADER_NUM_BYTES;
    memory.waits = (uint64_t *)(memory.names + memory.num_name_bytes);
    memory.records = (struct record *)(memory.waits + memory.num_waits);
    memcpy(memory.names, function_names, sizeof function_names);
    atomic_store(&header->num_name_bytes_used, sizeof function_names);
    pthread_key_create(&thread_end, uncount_thread);
    pthread_atfork(NULL, NULL, detach_child);
    header->echoed_nonce = header->nonce;
    header->abi_version = ABI_VERSION;
    header->pid = (uint64_t)getpid();
    header->world_rank = header->world_size = -1;
    memory.header = header;
    atomic_store(&header->rank_magic, RANK_MAGIC);
}

void introduce_rank(void)
{
    if (!memory.header) {
        int size = 0;
        real.Comm_size(MPI_COMM_WORLD, &size);
        begin_monitoring(size, NULL);
        return;
    }
    know_world();
    const struct communicator *world = communicator_of(MPI_COMM_WORLD);
    memory.header->world_rank = world->own_rank;
    memory.header->world_size = world->size;
    struct counted(*counters)[MAX_COUNTED_PEERS] = (void *)((char *)memory.header + COUNTERS_AT);
    memory.header->is_monitored = begin_monitoring(world->size, counters);
    atomic_store(&memory.header->initialised, 1);
}

static void count_as(int counted_phase)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    count_messages(counted_phase);
    pthread_mutex_unlock(&lock);
}

void count_sent_messages(void)
{
    if (is_attached())
        count_as(phase);
}

void forget_sent_messages(void)
{
    if (is_attached())
        count_as(PHASE_PAUSED);
}

void retire_rank(void)
{
    if (!memory.header)
        return;
    atomic_store(&is_retired, true);
    atomic_store(&memory.header->finalised, 1);
}

bool is_attached(void)
{
    need_library();
    return memory.header && !is_retired;
}

/* ---- phases ---- */

/*
 * Python frames of the harness: the one that all its cases run in, and the one that has paused;
 * whether the student has made a call in a phase yet.
 */
static const void *home_frame;
static const void *_Atomic paused_frame;
static _Atomic bool has_begun;

static bool is_main_of_harness(const void *frame, const char *file)
{
    (void)frame;
    const char *slash = strrchr(file, '/');
    return is_own_file(file) && strcmp(slash ? slash + 1 : file, "harness.py") == 0;
}

/* So begin the file names of all probes. */
static bool is_of_probes(const void *frame, const char *file)
{
    (void)frame;
    return strncmp(file, "<probes", strlen("<probes")) == 0;
}

static bool decides_who_calls(const void *frame, const char *file)
{
    return frame == home_frame || frame == paused_frame ||
           !(is_own_file(file) || is_of_probes(frame, file));
}

/*
 * Returns the phase of a call that is made now. Between phases only the harness may call without
 * its being counted, so who calls decides: what the submission does there by an attribute, a hook
 * or another thread is as much the student's as what it does within a phase. Not so before the
 * first one, when its files are imported.
 */
static int phase_of_call(void)
{
    if (phase == PHASE_STUDENT || (phase == PHASE_OUTSIDE && !has_begun) || !knows_own_files())
        return phase;
    const void *caller = python_frame(decides_who_calls);
    return caller && (caller == home_frame || caller == paused_frame) ? phase : PHASE_STUDENT;
}

static void enter_phase(void)
{
    thread.phase = phase_of_call();
    if (thread.phase == PHASE_STUDENT)
        has_begun = true;
    if (thread.phase != phase)
        count_as(phase);
}

bool is_recording(void)
{
    return is_attached() && thread.depth == 0 && phase_of_call() != PHASE_PAUSED;
}

bool sends_are_synchronous(void)
{
    return is_recording() &&
           atomic_load_explicit(&memory.header->synchronous_sends, memory_order_relaxed) != 0;
}

struct header *student_header(void)
{
    return is_attached() && phase_of_call() == PHASE_STUDENT ? memory.header : NULL;
}

/* ---- describing calls ---- */

struct details plain_call(uint32_t function)
{
    need_library();
    return (struct details){
        .function = function,
        .comm = MPI_COMM_NULL,
        .peer = NO_PEER,
        .tag = MPI_ANY_TAG,
        .num_elements = -1,
        .datatype = MPI_DATATYPE_NULL,
    };
}

struct details call_on(uint32_t function, MPI_Comm comm, int peer, int tag)
{
    struct details details = plain_call(function);
    details.comm = comm;
    details.peer = peer;
    details.tag = tag;
    return details;
}

struct details message(uint32_t function, uint32_t flags, const void *sent, int count,
                       MPI_Datatype datatype, int peer, int tag, MPI_Comm comm)
{
    struct details details = call_on(function, comm, peer, tag);
    details.flags = flags;
    details.sent = sent;
    details.num_elements = count;
    details.datatype = datatype;
    return details;
}

void set_elements(struct details *details, int64_t count, MPI_Datatype datatype)
{
    details->num_elements = count;
    details->datatype = datatype;
}

bool is_own_rank(MPI_Comm comm, int rank)
{
    return is_recording() && communicator_of(comm)->own_rank == rank;
}

/* Whether a call sends a pickle, as the lower-case calls of mpi4py do. */
static bool sends_pickle(const struct details *details)
{
    return details->sent != MPI_IN_PLACE && details->datatype == MPI_BYTE &&
           is_pickle(details->sent, details->num_elements);
}

static int64_t num_bytes_of(const struct details *details)
{
    if (details->num_elements < 0 || details->datatype == MPI_DATATYPE_NULL)
        return -1;
    MPI_Count item_num_bytes = 0;
    real.Type_size_x(details->datatype, &item_num_bytes);
    if (item_num_bytes == MPI_UNDEFINED)
        return -1;
    return details->num_elements * (int64_t)item_num_bytes;
}

/* ---- records ---- */

uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Returns the record, or NULL when it has been overwritten. The lock must be held. */
static struct record *record_of(uint64_t sequence)
{
    if (sequence == NOT_RECORDED || !memory.header)
        return NULL;
    struct record *record = &memory.records[sequence & (memory.num_records - 1)];
    return atomic_load_explicit(&record->stamp, memory_order_relaxed) == sequence + 1 ? record
                                                                                      : NULL;
}

/*
 * Appends to the list of waits of a record. The list has to be the last one. A reader compares
 * num_waits_reserved before and after it copies, so it is raised before anything is overwritten.
 */
static void append_waits(struct record *record, struct waited waited)
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

/* The polls that came back empty since the last call that did something. */
static struct {
    uint64_t sequence;
    struct details details;
    struct location location;
} open_polls[32];
static size_t num_open_polls;
static size_t next_open_poll;

/* Writes a record of a call that begins now. The lock must be held. */
static uint64_t write_record(const struct details *details, struct waited waited,
                             const struct communicator *communicator, struct location location,
                             int64_t num_bytes, uint64_t begun_ns)
{
    struct header *header = memory.header;
    uint64_t sequence = atomic_load_explicit(&header->num_reserved, memory_order_relaxed);
    struct record *record = &memory.records[sequence & (memory.num_records - 1)];
    atomic_store_explicit(&header->num_reserved, sequence + 1, memory_order_relaxed);
    atomic_store_explicit(&record->stamp, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    *record = (struct record){
        .entered_ns = begun_ns,
        .num_elements = details->num_elements,
        .num_bytes = num_bytes,
        .received_num_bytes = -1,
        .communicator = communicator->id,
        .communicator_size = communicator->size,
        .first_wait = atomic_load_explicit(&header->num_waits_reserved, memory_order_relaxed),
        .function = details->function,
        .file = location.file,
        .line = location.line,
        .place = location.place,
        .peer = details->communicator ? details->world_peer
                                      : world_peer(communicator, details->peer),
        .tag = details->tag == MPI_ANY_TAG ? TRACE_ANY_TAG : details->tag,
        .matched_source = TRACE_NO_PEER,
        .matched_tag = TRACE_ANY_TAG,
        .phase = thread.phase,
        .flags = details->flags | (sends_pickle(details) ? PICKLED : 0u),
    };
    if (waited.number)
        append_waits(record, waited);
    atomic_store_explicit(&record->stamp, sequence + 1, memory_order_release);
    atomic_store_explicit(&header->num_published, sequence + 1, memory_order_release);
    return sequence;
}

static const struct communicator *communicator_in(const struct details *details)
{
    return details->communicator ? details->communicator : communicator_of(details->comm);
}

static uint64_t begin(const struct details *details, struct waited waited,
                      struct location location)
{
    const struct communicator *communicator = communicator_in(details);
    int64_t num_bytes = num_bytes_of(details);
    lock_tables();
    uint64_t sequence =
        write_record(details, waited, communicator, location, num_bytes, now_ns());
    num_open_polls = 0;
    atomic_store_explicit(&memory.header->polling, 0, memory_order_relaxed);
    atomic_store_explicit(&memory.header->inside, sequence + 1, memory_order_release);
    unlock_tables();
    return sequence;
}

/* What also_begin needs of the call that it continues. */
static _Thread_local struct location current_location;

/*
 * Calls inside another one leave no record: MPI itself makes some. Notes those that a function of
 * the program makes which MPI has called, for an attribute or a reduction.
 */
static void note_nested_call(void)
{
    if (thread.depth == 0 || !is_attached() || phase_of_call() == PHASE_PAUSED)
        return;
    struct location location = python_location();
    if (location.file != current_location.file || location.line != current_location.line)
        atomic_fetch_add(&memory.header->num_nested, 1);
}

uint64_t begin_call(const struct details *details, struct waited waited)
{
    if (!is_recording()) {
        note_nested_call();
        return NOT_RECORDED;
    }
    count_thread();
    current_location = python_location();
    enter_phase();
    thread.depth++;
    return begin(details, waited, current_location);
}

uint64_t also_begin(uint64_t first, const struct details *details)
{
    if (first == NOT_RECORDED)
        return NOT_RECORDED;
    return begin(details, NOTHING_WAITED, current_location);
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
    also_end(sequence, error);
    if (!memory.header)
        return;
    if (thread.phase != phase)
        count_as(thread.phase);
    atomic_fetch_add_explicit(&memory.header->progress, 1, memory_order_relaxed);
    atomic_store_explicit(&memory.header->inside, 0, memory_order_release);
}

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

/* ---- polls ---- */

static bool is_same_poll(size_t index, const struct details *details, struct location location)
{
    const struct details *other = &open_polls[index].details;
    return other->function == details->function && other->peer == details->peer &&
           other->tag == details->tag && other->comm == details->comm &&
           open_polls[index].location.line == location.line &&
           open_polls[index].location.file == location.file;
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
static bool count_in_open_poll(const struct details *details, struct waited waited,
                               struct location location, bool is_empty)
{
    for (size_t i = 0; i < num_open_polls; i++) {
        struct record *record = record_of(open_polls[i].sequence);
        if (!record || !is_same_poll(i, details, location))
            continue;
        widen_waits(record, waited);
        record->failed_polls += is_empty && record->failed_polls < UINT32_MAX;
        record->left_ns = now_ns();
        return true;
    }
    return false;
}

static void open_poll(uint64_t sequence, const struct details *details, struct location location)
{
    size_t capacity = sizeof open_polls / sizeof *open_polls;
    size_t index = num_open_polls < capacity ? num_open_polls++ : next_open_poll++ % capacity;
    open_polls[index].sequence = sequence;
    open_polls[index].details = *details;
    open_polls[index].location = location;
}

static void record_empty_poll(const struct details *details, struct waited waited,
                              uint64_t begun_ns, struct location location, bool is_empty)
{
    const struct communicator *communicator = communicator_in(details);
    lock_tables();
    if (is_empty) {
        atomic_fetch_add_explicit(&memory.header->num_failed_polls, 1, memory_order_relaxed);
        atomic_store_explicit(&memory.header->polling, 1, memory_order_relaxed);
    }
    if (!count_in_open_poll(details, waited, location, is_empty)) {
        uint64_t sequence = write_record(details, waited, communicator, location, -1, begun_ns);
        struct record *record = record_of(sequence);
        record->failed_polls = is_empty;
        record->left_ns = now_ns();
        open_poll(sequence, details, location);
    }
    unlock_tables();
}

uint64_t record_poll(const struct details *details, struct waited waited, uint64_t begun_ns,
                     enum poll_result result, int error)
{
    if (!is_recording())
        return NOT_RECORDED;
    count_thread();
    struct location location = python_location();
    enter_phase();
    if (result != POLL_FOUND && error == MPI_SUCCESS) {
        record_empty_poll(details, waited, begun_ns, location, result == POLL_EMPTY);
        return NOT_RECORDED;
    }
    thread.depth++;
    uint64_t sequence = begin(details, waited, location);
    lock_tables();
    struct record *record = record_of(sequence);
    if (record)
        record->entered_ns = begun_ns;
    unlock_tables();
    end_call(sequence, error);
    return sequence;
}

/* ---- what became of a posted message ---- */

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

/* ---- marks and names ---- */

/* Our own files act for others here, as contextlib does for them; whoever is next has asked. */
static bool asks_for_mark(const void *frame, const char *file)
{
    return frame == home_frame || !(is_own_file(file) || strstr(file, "/contextlib.py"));
}

/*
 * Phases belong to the harness: to its files and probes, where we have been told them. Else whoever
 * calls MPI_Pcontrol first is the harness, and the file it did so from owns the phases. Calls from
 * other files are student code that tries to hide something, and change nothing.
 */
static bool owns_phases(uint32_t file)
{
    if (knows_own_files()) {
        if (!home_frame)
            home_frame = python_frame(is_main_of_harness);
        const void *asker = python_frame(asks_for_mark);
        return is_own_file(name_at(file)) && asker &&
               (asker == home_frame || asker == python_frame(is_of_probes));
    }
    static _Atomic int64_t owner = -1;
    int64_t nobody_yet = -1;
    return atomic_compare_exchange_strong(&owner, &nobody_yet, file) || nobody_yet == file;
}

bool set_phase(int level)
{
    if (level < PHASE_OUTSIDE || level > PHASE_PAUSED || !owns_phases(python_location().file))
        return false;
    paused_frame = level == PHASE_PAUSED ? python_frame(is_of_probes) : NULL;
    count_as(phase);
    lock_tables();
    phase = level;
    num_open_polls = 0;
    atomic_store_explicit(&memory.header->polling, 0, memory_order_relaxed);
    unlock_tables();
    return true;
}

const char *name_at(uint32_t offset)
{
    return memory.header && offset < memory.num_name_bytes ? &memory.names[offset] : "";
}

uint32_t intern_name(const char *name)
{
    size_t size = strlen(name) + 1;
    uint32_t offset = 0;
    lock_tables();
    uint64_t used = memory.header ? atomic_load(&memory.header->num_name_bytes_used) : 0;
    /* The judge shares this memory with us, but so does everything else in this process. */
    if (used > 0 && used <= memory.num_name_bytes) {
        for (uint64_t at = sizeof FUNCTION_NAMES; at < used && !offset;
             at += strnlen(&memory.names[at], used - at) + 1)
            if (strncmp(&memory.names[at], name, used - at) == 0)
                offset = (uint32_t)at;
        if (!offset && size <= memory.num_name_bytes - used) {
            memcpy(&memory.names[used], name, size);
            offset = (uint32_t)used;
            atomic_store(&memory.header->num_name_bytes_used, used + size);
        }
    }
    unlock_tables();
    return offset;
}

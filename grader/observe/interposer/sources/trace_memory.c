/* Maps what the judge has handed over, and keeps the header's words about the rank itself. */
#define _GNU_SOURCE
#include "trace_memory.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "library.h"
#include "lock_and_clock.h"

#define FD_VARIABLE "GRADER_TRACE_FD"

struct trace_memory memory;

static _Atomic bool is_retired;
static _Thread_local bool is_counted; /* this thread, by count_thread */
static pthread_key_t thread_end;

/* ---- threads ---- */

void count_thread(void)
{
    if (is_counted)
        return;
    is_counted = true;
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
    unlock_tables(); /* another thread of the rank may have held it */
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
    uint64_t num_records = header->num_records + header->num_name_bytes / NAME_NUM_BYTES;
    return num_bytes >= HEADER_NUM_BYTES + header->num_name_bytes +
                            header->num_waits * sizeof *memory.waits +
                            num_records * sizeof *memory.records;
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
    memory.overwritten = memory.records + memory.num_records;
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

/* ---- names ---- */

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

/*
 * Stands in front of writev, through which gloo sends: payloads are counted and sampled, and leave
 * altered if the judge wants it.
 *
 * gloo writes one buffer as a preamble of 48 bytes and the payload. Its sockets do not block, so
 * that a write may end anywhere, and whatever is left is written by another call. Preambles alone,
 * the handshake and the store of torch.distributed look otherwise and are never touched. The
 * caller's memory is not written to: the altered bytes stand in their place among the pieces.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fault_injection.h"
#include "layout.h"
#include "phases.h"
#include "samples.h"

/* What stands before a payload; sizes in bytes. */
struct preamble {
    uint64_t num_bytes; /* with the preamble itself */
    uint32_t kind;
    uint32_t unused;
    uint64_t slot; /* the highest byte says which operation it belongs to; 0 for a message */
    uint64_t offset;
    uint64_t length;
    uint64_t remote_offset;
};
_Static_assert(sizeof(struct preamble) == 48, "as long as gloo's");

enum { KIND_OF_PAYLOADS = 1, SLOT_SHIFT = 56, GROUP_NUM_BYTES = 8, MOST_PIECES = 4 };
enum { NO_PAYLOAD = 256 };    /* a byte holds no such operation */
enum { MOST_SOCKETS = 1024 }; /* as many files as a rank may open */

/* A payload that is on its way, and the bytes of it that leave altered. */
struct altered_payload {
    const unsigned char *at;
    unsigned char bytes[GROUP_NUM_BYTES];
    size_t num_bytes; /* 0: none */
    const unsigned char *end;
    size_t num_bytes_left; /* of preamble and payload; 0: nothing is on its way */
};

static struct header *header;
static struct gloo_counts *sent;                       /* nothing of Python maps it */
static struct altered_payload under_way[MOST_SOCKETS]; /* by descriptor */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A process that a rank forks is not the rank, and another thread may have held the lock. */
static void detach_child(void)
{
    header = NULL;
    sent = NULL;
}

int grader_watch_gloo(int trace_fd, int counts_fd); /* the harness looks it up by name */

/* Begins to count and to follow the judge's orders, once; returns -1 where that cannot be. */
int grader_watch_gloo(int trace_fd, int counts_fd)
{
    if (header)
        return -1;
    int protection = PROT_READ | PROT_WRITE;
    void *page = mmap(NULL, HEADER_NUM_BYTES, protection, MAP_SHARED, trace_fd, 0);
    void *counts = mmap(NULL, sizeof *sent, protection, MAP_SHARED, counts_fd, 0);
    if (page == MAP_FAILED || counts == MAP_FAILED || pthread_atfork(NULL, NULL, detach_child) != 0)
        return -1;
    header = page;
    sent = counts;
    return 0;
}

/* ---- what is to be altered ---- */

static bool is_tcp(int file)
{
    int domain = 0, type = 0;
    socklen_t size = sizeof domain;
    return getsockopt(file, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
           getsockopt(file, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
           (domain == AF_INET || domain == AF_INET6) && type == SOCK_STREAM;
}

static bool is_named(uint64_t operation)
{
    return operation < NUM_GLOO_OPERATIONS &&
           atomic_load(&header->altered_operations) >> operation & 1;
}

/* Of which operation a payload begins here; NO_PAYLOAD if none does. */
static uint64_t operation_begun(int file, const struct iovec *pieces, int num_pieces)
{
    struct preamble preamble;
    if (num_pieces != 2 || pieces[0].iov_len != sizeof preamble || pieces[1].iov_len == 0)
        return NO_PAYLOAD;
    memcpy(&preamble, pieces[0].iov_base, sizeof preamble);
    bool is_payload = preamble.kind == KIND_OF_PAYLOADS && preamble.length == pieces[1].iov_len &&
                      preamble.num_bytes == sizeof preamble + preamble.length && is_tcp(file);
    return is_payload ? preamble.slot >> SLOT_SHIFT : NO_PAYLOAD;
}

/*
 * Of what type the numbers are is not known here. Each byte becomes 0x40, or 0xC0 where the highest
 * bit was not set: a usual number of at least 2 and of the other sign, whether these are floats of
 * 16, 32 or 64 bits.
 */
static void alter_group(struct altered_payload *payload, const struct iovec *whole)
{
    size_t group = GROUP_NUM_BYTES;
    while (group > whole->iov_len)
        group /= 2;
    uint64_t position = atomic_load(&header->altered_position);
    size_t number = (size_t)((unsigned __int128)position * (whole->iov_len / group) >> 64);
    payload->at = (const unsigned char *)whole->iov_base + group * number;
    payload->num_bytes = group;
    memset(payload->bytes, payload->at[group - 1] & 0x80 ? 0x40 : 0xC0, group);
}

/* ---- on its way ---- */

static size_t num_bytes_in(const struct iovec *pieces, int num_pieces)
{
    size_t sum = 0;
    for (int i = 0; i < num_pieces; i++)
        sum += pieces[i].iov_len;
    return sum;
}

static const unsigned char *end_of(const struct iovec *last)
{
    return (const unsigned char *)last->iov_base + last->iov_len;
}

/* Returns what this call writes, or goes on to write; NULL where that is of no concern. */
static struct altered_payload *payload_in(int file, const struct iovec *pieces, int num_pieces)
{
    struct altered_payload *payload = &under_way[file];
    const struct iovec *last = &pieces[num_pieces - 1];
    size_t num_bytes = num_bytes_in(pieces, num_pieces);
    if (payload->num_bytes_left > 0 && payload->num_bytes_left == num_bytes &&
        payload->end == end_of(last))
        return payload;
    memset(payload, 0, sizeof *payload);
    if (atomic_load(&header->torch_phase) != PHASE_STUDENT ||
        !is_named(operation_begun(file, pieces, num_pieces)))
        return NULL;
    payload->num_bytes_left = num_bytes;
    payload->end = end_of(last);
    if (is_chosen(header, ALTER_SENDS, (int64_t)last->iov_len))
        alter_group(payload, last);
    return payload;
}

/* Copies the pieces with the altered bytes in place of their own; returns how many there are. */
static int replace_bytes(const struct altered_payload *payload, const struct iovec *pieces,
                         int num_pieces, struct iovec replaced[MOST_PIECES])
{
    memcpy(replaced, pieces, (size_t)num_pieces * sizeof *pieces);
    struct iovec *last = &replaced[num_pieces - 1];
    const unsigned char *begin = last->iov_base, *end = end_of(last);
    const unsigned char *after = payload->at + payload->num_bytes;
    if (payload->num_bytes == 0 || begin >= after)
        return num_pieces;
    const unsigned char *from = begin > payload->at ? begin : payload->at;
    last[0].iov_len = (size_t)(from - begin);
    last[1] = (struct iovec){(void *)&payload->bytes[from - payload->at], (size_t)(after - from)};
    last[2] = (struct iovec){(void *)after, (size_t)(end - after)};
    return num_pieces + 2;
}

static void note_written(struct altered_payload *payload, size_t num_bytes)
{
    size_t num_bytes_after = (size_t)(payload->end - (payload->at + payload->num_bytes));
    bool was_before = payload->num_bytes > 0 && payload->num_bytes_left > num_bytes_after;
    payload->num_bytes_left -= num_bytes;
    if (was_before && payload->num_bytes_left <= num_bytes_after)
        atomic_fetch_add(&header->num_altered, 1);
}

static ssize_t write_altered(int file, const struct iovec *pieces, int num_pieces)
{
    bool is_concerned = header && file >= 0 && file < MOST_SOCKETS && num_pieces > 0 &&
                        num_pieces <= 2 && atomic_load(&header->altered_kind) != 0;
    if (!is_concerned)
        return syscall(SYS_writev, file, pieces, num_pieces);
    pthread_mutex_lock(&lock);
    struct altered_payload *payload = payload_in(file, pieces, num_pieces);
    struct altered_payload seen = payload ? *payload : (struct altered_payload){0};
    pthread_mutex_unlock(&lock);
    if (!payload)
        return syscall(SYS_writev, file, pieces, num_pieces);
    struct iovec replaced[MOST_PIECES];
    int num_replaced = replace_bytes(&seen, pieces, num_pieces, replaced);
    ssize_t written = syscall(SYS_writev, file, replaced, num_replaced);
    if (written > 0) {
        pthread_mutex_lock(&lock);
        note_written(payload, (size_t)written);
        pthread_mutex_unlock(&lock);
    }
    return written;
}

/*
 * Each sample is of a payload that is drawn, by its length, and from a place that is drawn; places
 * are multiples of the longest number's size. Short payloads have none.
 */
static void take_samples(uint64_t operation, const struct iovec *payload)
{
    static uint64_t num_drawn;
    size_t num_bytes = payload->iov_len, size = sizeof(uint64_t);
    if (num_bytes < GLOO_SAMPLE_NUM_BYTES)
        return;
    size_t num_places = (num_bytes - GLOO_SAMPLE_NUM_BYTES) / size + 1;
    pthread_mutex_lock(&lock);
    uint64_t sum = sent->sampled_num_bytes[operation] += num_bytes;
    for (size_t i = 0; i < NUM_GLOO_SAMPLES; i++) {
        if (drawn(header->nonce, num_drawn++) % sum >= num_bytes)
            continue;
        size_t place = drawn(header->nonce, num_drawn++) % num_places;
        memcpy(sent->samples[operation][i], (unsigned char *)payload->iov_base + size * place,
               GLOO_SAMPLE_NUM_BYTES);
    }
    pthread_mutex_unlock(&lock);
}

/*
 * Counted before it is sent, so that nobody has received what is not counted, and sampled when some
 * of it is. A write that sends nothing is tried again; what is left of one that ends early looks
 * otherwise.
 */
ssize_t writev(int file, const struct iovec *pieces, int num_pieces)
{
    uint64_t operation = sent ? operation_begun(file, pieces, num_pieces) : NO_PAYLOAD;
    bool is_counted = operation < NUM_GLOO_OPERATIONS;
    if (is_counted)
        atomic_fetch_add(&sent->num_bytes[operation], pieces[1].iov_len);
    ssize_t written = write_altered(file, pieces, num_pieces);
    if (is_counted && written > 0)
        take_samples(operation, &pieces[1]);
    else if (is_counted)
        atomic_fetch_sub(&sent->num_bytes[operation], pieces[1].iov_len);
    return written;
}

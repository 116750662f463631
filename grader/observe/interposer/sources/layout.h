/*
 * The memory that the judge makes for one rank and both of them map.
 *
 *     header | names | waits | records | overwritten records
 *
 * The judge chooses how long names, waits and records are, and writes it down. Of the student's
 * overwritten records the last one of each function is kept. layout.py is the same description for
 * the reader; a test compares the two.
 */
#ifndef GRADER_LAYOUT_H
#define GRADER_LAYOUT_H

#include <stdatomic.h>
#include <stdint.h>

#define ABI_VERSION 10
#define JUDGE_MAGIC 0x31454744554a5247u /* "GRJUDGE1" in memory */
#define RANK_MAGIC 0x3145434152545247u  /* "GRTRACE1" in memory */
#define HEADER_NUM_BYTES 4096
#define NAME_NUM_BYTES 4       /* no function's name takes fewer, with its end */
#define NUM_GLOO_OPERATIONS 64 /* as many as the judge has a bit for */
#define NUM_GLOO_SAMPLES 64
#define GLOO_SAMPLE_NUM_BYTES 64

/* Of the harness, of the student's code, and of the harness while that waits. */
enum { PHASE_OUTSIDE = 0, PHASE_STUDENT = 1, PHASE_PAUSED = 2 };

/* In the page of the header, after its words. */
#define REFUSAL_AT 1024
#define COUNTERS_AT 2048
#define MAX_COUNTED_PEERS 64
#define NUM_COUNTED_PHASES 2 /* outside the student's code and inside; pauses are not counted */

/* Trace values that do not depend on the MPI library; the same as in calls.py. */
enum {
    TRACE_ANY_SOURCE = -1,
    TRACE_ANY_TAG = -1,
    TRACE_PROC_NULL = -2,
    TRACE_NO_PEER = -3,
    TRACE_NO_COMMUNICATOR = -1,
};

/* Every word has 64 bits, so that a reader of another process never sees half of one. */
struct header {
    /* Written by the judge before the rank gets the memory. */
    uint64_t judge_magic;
    uint64_t nonce;
    uint64_t num_records;    /* a power of two */
    uint64_t num_waits;      /* a power of two */
    uint64_t num_name_bytes; /* a multiple of 8 */

    /* Written by the judge at any time: a standard send waits for its receive. */
    _Atomic uint64_t synchronous_sends;

    /* Written by the interposer once, in MPI_Init and MPI_Finalize. */
    _Atomic uint64_t rank_magic;
    uint64_t echoed_nonce;
    uint64_t abi_version;
    uint64_t pid;
    int64_t world_rank; /* -1 until MPI_Init has returned */
    int64_t world_size;
    _Atomic uint64_t initialised;
    _Atomic uint64_t finalised;

    /* Written by the interposer all the time. */
    _Atomic uint64_t num_reserved;       /* records that are or were being written */
    _Atomic uint64_t num_published;      /* records that may be read */
    _Atomic uint64_t num_waits_reserved; /* the same for the list of waits */
    _Atomic uint64_t num_name_bytes_used;
    _Atomic uint64_t inside; /* sequence + 1 of the call the rank is in; 0 outside MPI */
    _Atomic uint64_t polling;
    _Atomic uint64_t progress;
    _Atomic uint64_t num_failed_polls;
    _Atomic uint64_t num_threads; /* living threads that have called MPI */

    /* Written by the judge between cases: what leaves altered in the student's phase. */
    _Atomic uint64_t altered_kind;          /* enum altered_kind */
    _Atomic uint64_t altered_first;         /* 0 for the first that is counted */
    _Atomic uint64_t altered_end;           /* the first after it that leaves as it is */
    _Atomic uint64_t altered_min_num_bytes; /* at least 1: what is shorter is not counted */
    _Atomic uint64_t altered_position;      /* which of its elements, as a part of 2^64 */
    _Atomic uint64_t altered_operations;    /* of gloo, a bit each; bit 0: messages */
    /* Counted by the interposer, set back by the judge. */
    _Atomic uint64_t num_counted;
    _Atomic uint64_t num_altered;

    /* Written by the interposer. */
    uint64_t is_monitored;       /* 1: the counters below hold what MPI itself has counted */
    _Atomic uint64_t num_nested; /* calls by functions that MPI called, which leave no record */
    _Atomic uint64_t num_beside_calls; /* messages that MPI sent for itself outside of any call */

    /* Written by the harness where torch.distributed connects the ranks. */
    _Atomic uint64_t torch_phase;
};

/* What gloo sends, by operation: a memory of its own. */
struct gloo_counts {
    _Atomic uint64_t num_bytes[NUM_GLOO_OPERATIONS];
    /* Of payloads that samples are taken of; set back by the judge between cases. */
    uint64_t sampled_num_bytes[NUM_GLOO_OPERATIONS];
    unsigned char samples[NUM_GLOO_OPERATIONS][NUM_GLOO_SAMPLES][GLOO_SAMPLE_NUM_BYTES];
};

/* What the guard refused to this rank: how often, and the first time in words. */
struct refusal {
    _Atomic uint64_t number;
    char first[COUNTERS_AT - REFUSAL_AT - 8];
};

/* What MPI itself counted of the messages to one peer. */
struct counted {
    uint64_t num_messages;
    uint64_t num_bytes;
};

enum altered_kind { ALTER_NOTHING, ALTER_SENDS, ALTER_CONTRIBUTIONS };

enum record_flag {
    IS_SEND = 1,
    IS_RECEIVE = 2,
    CREATES_REQUEST = 4,
    REQUEST_FREED = 8,
    CANCELLED = 16,
    SYNCHRONOUS = 32,
    PICKLED = 64,
    IS_PROBE = 128,
};

/* One call. Record number `sequence` lies at index sequence % num_records. */
struct record {
    _Atomic uint64_t stamp; /* sequence + 1; anything else: overwritten, or not yet written */
    uint64_t entered_ns;
    uint64_t left_ns;
    uint64_t completed_ns;
    int64_t num_elements;
    int64_t num_bytes;
    int64_t received_num_bytes;
    int64_t communicator;
    uint64_t first_wait; /* into waits, modulo num_waits */
    uint32_t num_waits;
    uint32_t function; /* byte offset of the name in names */
    uint32_t file;     /* likewise; 0 is the empty name */
    int32_t line;
    int32_t peer;
    int32_t tag;
    int32_t communicator_size;
    int32_t matched_source;
    int32_t matched_tag;
    int32_t error;
    int32_t phase;
    uint32_t failed_polls;
    uint32_t flags;
    uint32_t place;            /* of struct location */
    int64_t sampled_num_bytes; /* of the numbers that a rank gives; 0: not looked at */
    uint64_t sample_first;     /* 8 bytes of them each */
    uint64_t sample_middle;
    uint64_t sample_last;
};

_Static_assert(sizeof(struct header) <= REFUSAL_AT, "the words of the header fit their place");
_Static_assert(sizeof(struct refusal) == COUNTERS_AT - REFUSAL_AT, "the refusal fits its place");
_Static_assert(COUNTERS_AT + NUM_COUNTED_PHASES * MAX_COUNTED_PEERS * sizeof(struct counted) <=
                   HEADER_NUM_BYTES,
               "the header fits its page");
_Static_assert(sizeof(struct record) == 160, "a record has no gaps");

#endif

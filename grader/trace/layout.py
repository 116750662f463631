"""The memory between judge and rank, as interposer/layout.h describes it to the interposer."""

from enum import IntFlag
from typing import Any

import numpy as np

ABI_VERSION = 10
JUDGE_MAGIC = int.from_bytes(b"GRJUDGE1", "little")
RANK_MAGIC = int.from_bytes(b"GRTRACE1", "little")
HEADER_NUM_BYTES = 4096
NAME_NUM_BYTES = 4
"""No function's name takes fewer, with its end: an overwritten record lies at the offset / 4."""
ALTER_NOTHING, ALTER_SENDS, ALTER_CONTRIBUTIONS = range(3)
"""The kinds of what leaves a rank altered."""
GLOO_OPERATIONS = (
    *("message", "gather", "all_gather", "reduce", "all_reduce"),
    *("scatter", "broadcast", "barrier", "all_to_all"),
)
"""By the highest byte of the slots that gloo sends to."""
OPERATIONS = (
    *("MAX", "MIN", "SUM", "PROD", "LAND", "BAND", "LOR", "BOR"),
    *("LXOR", "BXOR", "MAXLOC", "MINLOC"),
)
"""MPI's own, by the number that a reduction has in place of a tag."""
NUM_GLOO_OPERATIONS = 64
NUM_GLOO_SAMPLES = 64
GLOO_SAMPLE_NUM_BYTES = 64
GLOO_COUNTS = np.dtype(
    [
        ("num_bytes", "<u8", NUM_GLOO_OPERATIONS),
        ("sampled_num_bytes", "<u8", NUM_GLOO_OPERATIONS),
        ("samples", "u1", (NUM_GLOO_OPERATIONS, NUM_GLOO_SAMPLES, GLOO_SAMPLE_NUM_BYTES)),
    ]
)
"""A memory of its own: what gloo sends, by operation."""
REFUSAL_AT = 1024
COUNTERS_AT = 2048
MAX_COUNTED_PEERS = 64
NUM_COUNTED_PHASES = 2
"""Outside the student's code and inside; pauses are not counted."""
NAMES_NUM_BYTES = 1 << 16
"""Room for the names of all MPI functions and of the Python files that call them."""
WAITS_PER_RECORD = 4

HEADER_WORDS = (
    "judge_magic",
    "nonce",
    "num_records",
    "num_waits",
    "num_name_bytes",
    "synchronous_sends",
    "rank_magic",
    "echoed_nonce",
    "abi_version",
    "pid",
    "world_rank",
    "world_size",
    "initialised",
    "finalised",
    "num_reserved",
    "num_published",
    "num_waits_reserved",
    "num_name_bytes_used",
    "inside",
    "polling",
    "progress",
    "num_failed_polls",
    "num_threads",
    "altered_kind",
    "altered_first",
    "altered_end",
    "altered_min_num_bytes",
    "altered_position",
    "altered_operations",
    "num_counted",
    "num_altered",
    "is_monitored",
    "num_nested",
    "num_beside_calls",
    "torch_phase",
)
"""The header, 64 bits each; every word is read and written in one piece."""

RECORD = np.dtype(
    [
        ("stamp", "<u8"),
        ("entered_ns", "<u8"),
        ("left_ns", "<u8"),
        ("completed_ns", "<u8"),
        ("num_elements", "<i8"),
        ("num_bytes", "<i8"),
        ("received_num_bytes", "<i8"),
        ("communicator", "<i8"),
        ("first_wait", "<u8"),
        ("num_waits", "<u4"),
        ("function", "<u4"),
        ("file", "<u4"),
        ("line", "<i4"),
        ("peer", "<i4"),
        ("tag", "<i4"),
        ("communicator_size", "<i4"),
        ("matched_source", "<i4"),
        ("matched_tag", "<i4"),
        ("error", "<i4"),
        ("phase", "<i4"),
        ("failed_polls", "<u4"),
        ("flags", "<u4"),
        ("place", "<u4"),
        ("sampled_num_bytes", "<i8"),
        ("sample_first", "<i8"),
        ("sample_middle", "<i8"),
        ("sample_last", "<i8"),
    ]
)


class RecordFlag(IntFlag):
    """The bits of a record's flags."""

    IS_SEND = 1
    IS_RECEIVE = 2
    CREATES_REQUEST = 4
    REQUEST_FREED = 8
    CANCELLED = 16
    SYNCHRONOUS = 32
    PICKLED = 64
    IS_PROBE = 128


def described() -> dict[str, Any]:
    """Return all of this as JSON values, for ranks that write calls no MPI library makes."""
    return {
        "abi_version": ABI_VERSION,
        "rank_magic": RANK_MAGIC,
        "header_num_bytes": HEADER_NUM_BYTES,
        "name_num_bytes": NAME_NUM_BYTES,
        "header_words": list(HEADER_WORDS),
        "record": [[name, RECORD[name].str] for name in RECORD.names or ()],
        "flags": {flag.name: int(flag) for flag in RecordFlag},
    }

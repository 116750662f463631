"""What depends on the processor: the numbers of system calls, and how others number them.

All of it is here. The filter of system calls names what it refuses, and libseccomp knows the
numbers; the interposer is compiled for each. Ranks are sent this module, so it imports nothing of
ours.
"""

import platform
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Architecture:
    """One kind of processor, under 64-bit Linux."""

    machine: str
    """As `uname -m` and the tags of wheels call it."""
    container: str
    """As images call it."""
    compiler: str
    """The C compiler for it, by the name that it has beside those for others."""
    calls: Mapping[str, int]
    """The number of each system call that the self-test makes by its number."""
    other_calls: tuple[bytes, ...] = ()
    """Machine code of functions that ask for getpid by another set of numbers."""
    other_bit: int | None = None
    """What set of numbers is meant if a call's number has this bit."""


X86_64 = Architecture(
    machine="x86_64",
    container="linux/amd64",
    compiler="x86_64-linux-gnu-gcc",
    calls={
        "keyctl": 250,
        "add_key": 248,
        "request_key": 249,
        "bpf": 321,
        "io_uring_setup": 425,
        "userfaultfd": 323,
        "perf_event_open": 298,
        "shmget": 29,
        "msgget": 68,
        "semget": 64,
        "mq_open": 240,
        "setns": 308,
        "pivot_root": 155,
        "open_by_handle_at": 304,
        "init_module": 175,
        "syslog": 103,
        "memfd_create": 319,
        "getpid": 39,
    },
    other_calls=(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3",),  # by int 0x80, as 32-bit programs do
    other_bit=30,  # x32
)
AARCH64 = Architecture(
    machine="aarch64",
    container="linux/arm64",
    compiler="aarch64-linux-gnu-gcc",
    calls={
        "keyctl": 219,
        "add_key": 217,
        "request_key": 218,
        "bpf": 280,
        "io_uring_setup": 425,
        "userfaultfd": 282,
        "perf_event_open": 241,
        "shmget": 194,
        "msgget": 186,
        "semget": 190,
        "mq_open": 180,
        "setns": 268,
        "pivot_root": 41,
        "open_by_handle_at": 265,
        "init_module": 105,
        "syslog": 116,
        "memfd_create": 279,
        "getpid": 172,
    },
)
ARCHITECTURES = {each.machine: each for each in (X86_64, AARCH64)}


def this_one() -> Architecture:
    """Return the architecture of this machine. Raises OSError for one that we do not know."""
    machine = platform.machine()
    if machine not in ARCHITECTURES:
        known = " and ".join(ARCHITECTURES)
        raise OSError(f"the numbers of system calls are known on {known} only, not on {machine}")
    return ARCHITECTURES[machine]

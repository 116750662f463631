"""Payloads in the form that gloo writes, in parts of any length: what comes of them."""

import json
import mmap
import os
import subprocess
import sys
import textwrap
from contextlib import closing

import numpy as np
import pytest

from grader.model.report import MessageFault
from grader.observe.interposer.gloo_counts import GlooCounts
from grader.observe.interposer.memory import TraceMemory
from grader.trace import layout
from grader.trace.sent_by_gloo import SentByGloo

LIMIT_S = 60.0
SHORT_WRITES = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

long syscall(long number, ...)
{
    long given[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        given[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_writev) {
        char bytes[64];
        size_t most = (size_t)atoi(getenv("MOST_NUM_BYTES")), taken = 0;
        const struct iovec *pieces = (const struct iovec *)given[1];
        for (int i = 0; i < (int)given[2]; i++) {
            size_t part = most - taken < pieces[i].iov_len ? most - taken : pieces[i].iov_len;
            memcpy(&bytes[taken], pieces[i].iov_base, part);
            taken += part;
        }
        return write((int)given[0], bytes, taken);
    }
    long (*real)(long, ...) = dlsym(RTLD_NEXT, "syscall");
    return real(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}
"""
"""A kernel that takes few bytes at a time: to be loaded behind the interposer."""
PROGRAM = """
import ctypes, json, os, random, socket, struct, sys
from grader.rank.trace_writer import TraceWriter

fd, counts, told = int(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
writer = TraceWriter(fd, told, 0, 1)
assert ctypes.CDLL(None).grader_watch_gloo(fd, counts) == 0
os.close(counts)
writer.mark_phase(1)
random.seed(1)


def pair(family):
    if family == "unix":
        return socket.socketpair()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return socket.create_connection(listener.getsockname()), listener.accept()[0]


def sent(payload, family="tcp", kind=1, slot=4, length=None, joined=False):
    "Send a preamble and a payload like gloo; return what came of the payload."
    length = len(payload) if length is None else length
    preamble = struct.pack("<QIIQQQQ", 48 + length, kind, 7, slot << 56, 0, length, 0)
    sender, receiver = pair(family)
    sender.setblocking(False)
    pieces = [memoryview(preamble + payload)] if joined else [
        memoryview(preamble), memoryview(payload)
    ]
    received = bytearray()
    while pieces:
        try:
            written = os.writev(sender.fileno(), pieces)
        except BlockingIOError:
            received += receiver.recv(1 << 20)
            continue
        while pieces and written >= len(pieces[0]):
            written -= len(pieces.pop(0))
        if pieces:
            pieces[0] = pieces[0][written:]
    sender.close()
    while more := receiver.recv(1 << 16):
        received += more
    assert received[:48] == preamble, "the preamble has changed"
    return bytes(received[48:])


def changed(payload, received):
    assert len(payload) == len(received)
    return [at for at in range(len(payload)) if payload[at] != received[at]]

"""


@pytest.fixture(scope="module")
def short_writes(tmp_path_factory):
    """Return a library that lets writev take at most MOST_NUM_BYTES bytes."""
    folder = tmp_path_factory.mktemp("short_writes")
    source, made = folder / "short_writes.c", folder / "short_writes.so"
    source.write_text(SHORT_WRITES)
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", str(made), str(source), "-ldl"],
        check=True,
        timeout=LIMIT_S,
    )
    return made


@pytest.fixture
def watched(interposer):
    """Return `watched(program, *operations, **where)`: how many payloads were altered, and sent."""

    def start(program, *operations, number=None, also=None, most=1 << 30, **where):
        source = PROGRAM + textwrap.dedent(program)
        with TraceMemory.create(1 << 4) as memory, closing(GlooCounts()) as counts:
            memory.alter(MessageFault(0, number, operations=operations, **where))
            ran = subprocess.run(
                [
                    *(sys.executable, "-c", source),
                    *(str(memory.fd), str(counts.fd), json.dumps(layout.described())),
                ],
                env={
                    **os.environ,
                    "LD_PRELOAD": ":".join(map(str, filter(None, (interposer, also)))),
                    "MOST_NUM_BYTES": str(most),
                },
                pass_fds=[memory.fd, counts.fd],
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
                check=False,
            )
            assert ran.returncode == 0, ran.stderr
            return memory.num_altered(), counts.sent()

    return start


@pytest.fixture
def altered(watched):
    """Return the same for how many payloads were altered."""
    return lambda *arguments, **where: watched(*arguments, **where)[0]


@pytest.mark.parametrize("position", [0.0, 0.2, 0.5, 0.77, 0.9999999])
def test_eight_bytes_change(altered, position):
    """Wherever they are, also where a payload is longer than a socket takes at once."""
    program = f"""
    for length in (8, 100, 4096, 70_001, 9_000_000):
        payload = random.randbytes(length)
        group = int({position} * (length // 8))
        expected = list(range(8 * group, 8 * group + 8))
        found = changed(payload, sent(payload))
        assert set(found) <= set(expected) and found, (length, found[:20], expected)
        assert found[-1] == expected[-1], "the highest byte tells the size of a number"
    """
    assert altered(program, "all_reduce", position=position) == 5


@pytest.mark.parametrize("most", range(1, 14))
def test_writes_that_end_anywhere(altered, short_writes, most):
    """However few bytes a write takes: nothing is lost, doubled or altered twice."""
    program = """
    payload = bytes(range(100))
    assert changed(payload, sent(payload)) == list(range(48, 56))
    """
    count = altered(program, "all_reduce", position=0.5, also=short_writes, most=most)
    assert count == 1


def test_the_shortest_payloads(altered):
    """Of less than eight bytes as many change as make up a number."""
    program = """
    for length in range(1, 120):
        payload = bytes(length)
        assert len(changed(payload, sent(payload))) == max(n for n in (1, 2, 4, 8) if n <= length)
    """
    assert altered(program, "all_reduce", position=0.5) == 119


@pytest.mark.parametrize(
    "other",
    [
        "kind=0",
        "kind=2",
        "kind=3",
        "slot=5",
        "slot=64",
        "slot=68",
        "length=99",
        "joined=True",
        'family="unix"',
    ],
)
def test_what_looks_otherwise_is_left_alone(altered, other):
    """Notices, other operations, sizes that do not fit, one piece, no TCP."""
    program = f"""
    payload = random.randbytes(100)
    assert sent(payload, {other}) == payload
    assert sent(payload) != payload
    """
    assert altered(program, "all_reduce") == 1


def test_a_forked_process_is_not_the_rank(altered):
    """What it writes is its own."""
    program = """
    payload = bytes(100)
    child = os.fork()
    if not child:
        os._exit(sent(payload) != payload)
    assert os.waitpid(child, 0)[1] == 0
    """
    assert altered(program, "all_reduce") == 0


def test_only_the_ordered_payload_is_altered(altered):
    """Shorter ones and those of other operations are not counted."""
    program = """
    for number in range(4):
        short, long = bytes(10), bytes(100)
        assert sent(short) == short
        assert sent(long, slot=1) == long
        assert (sent(long) != long) == (number == 2)
    """
    assert altered(program, "all_reduce", number=2, min_num_bytes=11) == 1


@pytest.mark.parametrize("most", [1, 40, 48, 60])
@pytest.mark.parametrize("operations", [(), ("all_reduce",)])
def test_payloads_are_counted_once(watched, short_writes, most, operations):
    """In whatever parts they go, altered or not, in every phase; nothing else is counted."""
    program = """
    for phase in (0, 1, 2):
        writer.mark_phase(phase)
        sent(bytes(100))
        sent(bytes(1000), slot=0)
    sent(bytes(10), kind=2), sent(bytes(10), length=9), sent(bytes(10), family="unix")
    sent(bytes(10), slot=64), sent(bytes(10), joined=True)
    """
    _, counted = watched(program, *operations, also=short_writes, most=most)
    assert counted == SentByGloo(of_messages=3000, of_collectives=300)


def test_what_the_network_does_not_take_yet_is_counted_once(watched):
    """A write that sends nothing is tried again."""
    program = """
    sent(bytes(9_000_000))
    # Nobody accepts these: the last is not connected yet, and takes nothing.
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        senders = [socket.socket() for _ in range(4)]
        for sender in senders:
            sender.setblocking(False)
            sender.connect_ex(listener.getsockname())
        pieces = [struct.pack("<QIIQQQQ", 48 + 80, 1, 7, 4 << 56, 0, 80, 0), bytes(80)]
        for _ in range(3):
            try:
                os.writev(sender.fileno(), pieces)
                raise AssertionError("there was room")
            except BlockingIOError:
                pass
    """
    _, counted = watched(program)
    assert counted == SentByGloo(of_messages=0, of_collectives=9_000_000)
    assert counted.samples["all_reduce"].num_bytes == 9_000_000


def test_what_a_forked_process_sends_is_not_the_ranks(watched):
    """Its memory is the judge's as well, but it is none of the ranks."""
    program = """
    child = os.fork()
    if not child:
        sent(bytes(100))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    """
    assert watched(program)[1] == SentByGloo(of_messages=0, of_collectives=0)


def test_payloads_are_sampled_at_drawn_places(watched):
    """As often as they are long, in every phase; short ones are not."""
    program = """
    def numbers(begin, length):
        return struct.pack(f"<{length}d", *range(begin, begin + length))
    for phase in (0, 1):
        writer.mark_phase(phase)
        sent(numbers(1000 + 1000 * phase, 500))
    sent(numbers(5000, 1000), slot=0)
    sent(bytes(63), slot=1)
    """
    _, counted = watched(program)
    assert {name: each.num_bytes for name, each in counted.samples.items()} == {
        "all_reduce": 8000,
        "message": 8000,
    }
    begins = {name: each.taken.view("<f8")[:, 0] for name, each in counted.samples.items()}
    for each in counted.samples.values():
        assert (np.diff(each.taken.view("<f8")) == 1).all()
    assert (begins["message"] >= 5000).all() and len({*begins["message"]}) > 50
    assert 10 < (begins["all_reduce"] < 2000).sum() < 54


def test_samples_are_of_one_case():
    """What was sent before is forgotten; the counts go on."""
    with closing(GlooCounts()) as counts:
        written = np.ndarray((), layout.GLOO_COUNTS, mmap.mmap(counts.fd, 0))
        written["num_bytes"][4] = written["sampled_num_bytes"][4] = 100
        assert list(counts.sent().samples) == ["all_reduce"]
        counts.drop_samples()
        assert counts.sent().samples == {}
        assert counts.sent() == SentByGloo(of_messages=0, of_collectives=100)

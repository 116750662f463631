"""The judge's reader, against an honest rank, a small memory, and a rank that writes garbage."""

import mmap
import os
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.model.report import MessageFault
from grader.observe.interposer.memory import Snapshot, TraceMemory
from grader.trace import layout
from grader.trace.calls import NO_PEER, Counted, RankTrace

NUM_RECORDS = 16
NUM_WAITS = NUM_RECORDS * layout.WAITS_PER_RECORD
WAITS = layout.HEADER_NUM_BYTES + layout.NAMES_NUM_BYTES
RECORDS = WAITS + 8 * NUM_WAITS
OVERWRITTEN = RECORDS + NUM_RECORDS * layout.RECORD.itemsize
NUM_FUNCTIONS = layout.NAMES_NUM_BYTES // layout.NAME_NUM_BYTES


class Rank:
    """The other side of a memory: writes what an interposer, or a student, would."""

    def __init__(self, memory):
        self.bytes = mmap.mmap(memory.fd, 0)
        self.words = np.frombuffer(self.bytes, "<u8", len(layout.HEADER_WORDS))
        self.waits = np.frombuffer(self.bytes, "<u8", NUM_WAITS, WAITS)
        self.records = np.frombuffer(self.bytes, layout.RECORD, NUM_RECORDS, RECORDS)
        self.overwritten = np.frombuffer(self.bytes, layout.RECORD, -1, OVERWRITTEN)

    def set(self, **words):
        for name, value in words.items():
            self.words[layout.HEADER_WORDS.index(name)] = value

    def word(self, name):
        return int(self.words[layout.HEADER_WORDS.index(name)])

    def attach(self, **others):
        words = {
            "echoed_nonce": self.word("nonce"),
            "abi_version": layout.ABI_VERSION,
            "rank_magic": layout.RANK_MAGIC,
            "initialised": 1,
            "num_threads": 1,
        }
        self.set(**{**words, **others})

    def call(self, sequence, **fields):
        record = self.records[sequence % NUM_RECORDS]
        for name, value in {"stamp": sequence + 1, "matched_source": NO_PEER, **fields}.items():
            record[name] = value
        self.set(num_reserved=sequence + 1, num_published=sequence + 1)


@pytest.fixture
def memory():
    with TraceMemory.create(NUM_RECORDS) as created:
        yield created


@pytest.fixture
def rank(memory):
    return Rank(memory)


def test_an_untouched_memory(memory):
    """A rank that never attached has done nothing, and is not taken for one that has."""
    assert memory.read() == RankTrace(
        rank=-1,
        calls=(),
        attached=False,
        initialised=False,
        finalised=False,
        inside=-1,
        polling=False,
        progress=0,
        num_failed_polls=0,
        truncated=False,
    )


def test_nobody_can_change_the_size(memory):
    """A rank that shrinks the memory would kill the judge at its next look."""
    size = os.fstat(memory.fd).st_size
    for other in (0, size - 1, size + 1):
        with pytest.raises(PermissionError):
            os.ftruncate(memory.fd, other)


def test_a_memory_holds_a_power_of_two():
    """Anything else is a mistake of ours."""
    for num_records in (0, 3, 100):
        with pytest.raises(ValueError, match="not a power of two"):
            TraceMemory.create(num_records)


@pytest.mark.parametrize("word", ["rank_magic", "abi_version", "echoed_nonce"])
def test_a_rank_is_attached_only_with_all_its_marks(memory, rank, word):
    """Magic, version and the judge's own nonce have to be there."""
    rank.attach(world_rank=3)
    assert memory.snapshot().attached
    assert memory.snapshot().rank == 3
    rank.set(**{word: rank.word(word) ^ 1})
    assert not memory.snapshot().attached
    assert memory.read().rank == -1


def test_the_nonce_is_the_judges_and_differs(memory, rank):
    """A rank that changes the nonce it was given convinces nobody."""
    with TraceMemory.create(NUM_RECORDS) as other:
        assert Rank(other).word("nonce") != rank.word("nonce")
    rank.set(nonce=7)
    rank.attach()
    assert not memory.snapshot().attached


def test_the_send_mode_is_one_word(memory, rank):
    """The rank sees each change."""
    for synchronous in (True, False):
        memory.set_synchronous_sends(synchronous)
        assert rank.word("synchronous_sends") == synchronous


def test_an_alteration_is_an_order_with_counters(memory, rank):
    """A new order begins with counters of 0."""
    assert rank.word("altered_kind") == layout.ALTER_NOTHING
    rank.set(num_counted=5, num_altered=2)
    assert memory.num_altered() == 2
    memory.alter(MessageFault(0, 4, 0.5, 100, num_messages=3))
    words = ("altered_kind", "altered_first", "altered_end", "altered_min_num_bytes")
    assert [rank.word(name) for name in words] == [layout.ALTER_SENDS, 4, 7, 100]
    assert [rank.word(name) for name in ("altered_position", "num_counted")] == [1 << 63, 0]
    assert memory.num_altered() == 0
    memory.alter(MessageFault(0, None, 1.0, 0, of_collectives=True))
    last = 2**64 - 1
    assert [rank.word(name) for name in words] == [layout.ALTER_CONTRIBUTIONS, 0, last, 1]
    assert rank.word("altered_position") == last
    memory.alter_nothing()
    assert rank.word("altered_kind") == layout.ALTER_NOTHING


def test_a_call_is_read_as_it_was_written(memory, rank):
    """Names come from the table, waits from the list, flags become fields."""
    rank.attach()
    names = b"\0Isend\0ring.py\0"
    rank.bytes[layout.HEADER_NUM_BYTES : layout.HEADER_NUM_BYTES + len(names)] = names
    rank.set(num_name_bytes_used=len(names), num_waits_reserved=5)
    rank.waits[3:5] = (8, 9)
    flags = layout.RecordFlag.IS_SEND | layout.RecordFlag.PICKLED
    rank.call(
        *(0,), function=1, file=7, line=41, peer=2, flags=flags, first_wait=3, num_waits=2, tag=-1
    )
    (call,) = memory.read().calls
    assert (call.function, call.file, call.line) == ("Isend", "ring.py", 41)
    assert (call.peer, call.tag, call.waits_for) == (2, -1, (8, 9))
    assert (call.is_send, call.pickled, call.is_receive) == (True, True, False)


def test_only_the_calls_that_are_asked_for(memory, rank):
    """A later start leaves earlier calls out, and does not miss them."""
    rank.attach()
    for sequence in range(10):
        rank.call(sequence)
    assert [call.sequence for call in memory.read(7).calls] == [7, 8, 9]
    assert memory.read(10).calls == memory.read(1000).calls == ()
    assert not any(memory.read(since).truncated for since in (0, 7, 10, 1000))


def test_overwritten_calls_are_missed(memory, rank):
    """Only who asks for lost calls is told that they are lost."""
    rank.attach()
    for sequence in range(40):
        rank.call(sequence, line=sequence)
    trace = memory.read()
    assert [call.line for call in trace.calls] == list(range(24, 40))
    assert trace.truncated
    assert memory.read(23).truncated
    assert not memory.read(24).truncated


def test_of_lost_calls_those_that_were_kept_are_read(memory, rank):
    """Each once and in its order; what is still there, was not asked for or makes no sense, not."""
    rank.attach()
    for sequence in range(40):
        rank.call(sequence, line=sequence)
    assert len(rank.overwritten) == NUM_FUNCTIONS
    for place, stamp in ((7, 13), (3, 20), (2, 5), (9, 20), (11, 25), (-1, 2**64 - 1)):
        rank.overwritten[place]["stamp"] = stamp
        rank.overwritten[place]["line"] = stamp - 1 if stamp < 40 else 0
    trace = memory.read(6)
    lines = [12, 19, *range(24, 40)]
    assert [call.line for call in trace.calls] == lines
    assert [call.sequence for call in trace.calls] == lines
    assert trace.truncated
    assert [call.line for call in memory.read(24).calls] == lines[2:]


def test_calls_that_are_overwritten_while_we_read_are_dropped(memory, rank):
    """The rank has begun to write a call: the one it overwrites cannot be whole any more."""
    rank.attach()
    for sequence in range(16):
        rank.call(sequence)
    rank.set(num_reserved=18)
    trace = memory.read()
    assert [call.sequence for call in trace.calls] == list(range(2, 16))
    assert trace.truncated


def test_a_record_that_is_not_what_it_should_be_is_lost(memory, rank):
    """The stamp tells whether a record is the call that belongs there."""
    rank.attach()
    for sequence in range(4):
        rank.call(sequence)
    rank.records[2]["stamp"] = 77
    trace = memory.read()
    assert [call.sequence for call in trace.calls] == [0, 1, 3]
    assert trace.truncated


@pytest.mark.parametrize(
    ("first_wait", "num_waits", "num_waits_reserved"),
    [(0, 1, NUM_WAITS + 1), (5, 1, 5), (0, 2**32 - 1, 10), (2**64 - 1, 3, 2**64 - 1)],
)
def test_waits_that_are_not_there_are_lost(memory, rank, first_wait, num_waits, num_waits_reserved):
    """Overwritten, never written, far too many: the call stays, what it waits for is unknown."""
    rank.attach(num_waits_reserved=num_waits_reserved)
    rank.call(0, first_wait=first_wait, num_waits=num_waits)
    trace = memory.read()
    assert [call.waits_for for call in trace.calls] == [()]
    assert trace.truncated


def test_names_cannot_command_a_terminal(memory, rank):
    """What is not printable, not UTF-8 or not there at all does not reach a report."""
    rank.attach()
    names = b"\0\x1b[31mred\0\xff\xfe\0" + b"x" * 9000
    rank.bytes[layout.HEADER_NUM_BYTES : layout.HEADER_NUM_BYTES + len(names)] = names
    rank.set(num_name_bytes_used=len(names))
    for sequence, offset in enumerate((1, 10, 13, 2**32 - 1)):
        rank.call(sequence, file=offset)
    files = [call.file for call in memory.read().calls]
    assert files[0] == "?[31mred"
    assert files[1] == "\N{REPLACEMENT CHARACTER}" * 2
    assert files[2] == "x" * 4096
    assert files[3] == ""


def test_what_a_rank_does_now(memory, rank):
    """Inside, polling and the counters, as far as they make sense together."""
    rank.attach(progress=5, num_failed_polls=7, polling=1)
    rank.call(0)
    assert (memory.snapshot().inside, memory.snapshot().polling) == (-1, True)
    rank.set(inside=1, polling=0)
    assert (memory.snapshot().inside, memory.snapshot().head) == (0, 1)
    assert (memory.snapshot().progress, memory.snapshot().num_failed_polls) == (5, 7)
    rank.set(inside=2)
    assert memory.snapshot().inside == -1
    rank.set(inside=1, polling=1, num_threads=2)
    assert (memory.snapshot().inside, memory.snapshot().polling) == (-1, False)


WORD = st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 40), st.integers(2**64 - 40, 2**64 - 1))


@settings(max_examples=200, deadline=None)
@given(
    words=st.dictionaries(st.sampled_from(layout.HEADER_WORDS), WORD),
    seed=st.integers(0, 2**32),
    stamped=st.booleans(),
    since=st.integers(-5, 60),
)
def test_garbage_is_survived(words, seed, stamped, since):
    """Whatever a rank writes, reading gives a trace of the right types and bounded length."""
    with TraceMemory.create(NUM_RECORDS) as memory:
        rank = Rank(memory)
        rank.attach()
        rank.bytes[layout.HEADER_NUM_BYTES :] = random.Random(seed).randbytes(
            len(rank.bytes) - layout.HEADER_NUM_BYTES
        )
        rank.set(**words)
        if stamped:
            head = rank.word("num_published")
            for sequence in range(max(head - NUM_RECORDS, 0), head):
                rank.records[sequence % NUM_RECORDS]["stamp"] = (sequence + 1) % 2**64
        assert isinstance(memory.snapshot(), Snapshot)
        trace = memory.read(since)
        assert len(trace.calls) <= NUM_RECORDS + NUM_FUNCTIONS
        for call in trace.calls:
            assert call.sequence >= since
            assert type(call.peer) is type(call.num_bytes) is int
            assert len(call.waits_for) <= 256
            assert call.function.isprintable()
        del rank


# ---- what lies in the page of the header ----


def counters_of(rank):
    shape = (layout.NUM_COUNTED_PHASES, layout.MAX_COUNTED_PEERS, 2)
    number = layout.NUM_COUNTED_PHASES * layout.MAX_COUNTED_PEERS * 2
    return np.frombuffer(rank.bytes, "<u8", number, layout.COUNTERS_AT).reshape(shape)


def test_what_mpi_counted(memory):
    """Messages and bytes of the phases asked for, to as many ranks as there are."""
    rank = Rank(memory)
    rank.attach(world_size=2)
    counters_of(rank)[:, :3] = [[(1, 10), (2, 20), (3, 30)], [(4, 40), (5, 50), (6, 60)]]
    assert memory.counted((1,)) is None
    rank.set(is_monitored=1)
    assert memory.counted((1,)) == Counted((4, 5), (40, 50))
    assert memory.counted((0, 1)) == Counted((5, 7), (50, 70))


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_counters_that_a_student_has_written(world_size, value):
    """Whatever is there, numbers of a bounded size come out."""
    with TraceMemory.create(NUM_RECORDS) as memory:
        rank = Rank(memory)
        rank.attach(world_size=world_size, is_monitored=1)
        counters_of(rank)[:] = value
        counted = memory.counted((0, 1))
        assert len(counted.num_messages) == len(counted.num_bytes) <= layout.MAX_COUNTED_PEERS
        assert all(each == 2 * value for each in counted.num_messages)


def test_refusals_are_read_as_text(memory):
    """Nothing was refused; then something was; then garbage is no more than unreadable."""
    assert memory.refusal() == ""
    rank = Rank(memory)
    rank.bytes[layout.REFUSAL_AT : layout.REFUSAL_AT + 8] = (1).to_bytes(8, "little")
    said = b"ring.py:3 opens a C library\0behind"
    rank.bytes[layout.REFUSAL_AT + 8 : layout.REFUSAL_AT + 8 + len(said)] = said
    assert memory.refusal() == "ring.py:3 opens a C library"
    rank.bytes[layout.REFUSAL_AT : layout.COUNTERS_AT] = (b"\x1b[2J\xff\n" * 200)[:1024]
    assert memory.refusal().isprintable()
    assert len(memory.refusal()) <= 300

"""Rules and volumes, on traces of right and wrong all-reduces."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.judge.check_failures import NotProven, RuleViolation
from grader.judge.traffic import counting, neighbours, rules
from grader.trace import functions
from grader.trace.calls import ANY_SOURCE, PROC_NULL, Call, RankTrace, Trace

from ..build import ITEM_NUM_BYTES, Run, as_recorded

SIZES = [2, 3, 4, 5, 8, 16]
LENGTHS = [0, 1, 2, 3, 7, 13, 97, 1000]
RULES = [
    rules.assert_only_point_to_point,
    rules.assert_only_nonblocking,
    rules.assert_buffers_not_pickles,
    rules.assert_requests_completed,
]


def violation(rule, run, *arguments, **options):
    trace = run if isinstance(run, Trace) else run.trace()
    with pytest.raises(RuleViolation) as caught:
        rule(trace, *arguments, **options)
    return str(caught.value)


def ring(num_ranks, chunk_lengths, *, step=1, skips_empty=False):
    """A non-blocking ring: reduce-scatter, then all-gather, of these chunks."""
    run = Run(num_ranks)
    for hop in range(2 * (num_ranks - 1)):
        for rank in range(num_ranks):
            length = chunk_lengths[(step * rank - hop) % num_ranks]
            if length or not skips_empty:
                send = run.isend(rank, (rank + step) % num_ranks, hop, num_elements=length)
                run.wait(rank, send, run.irecv(rank, (rank - step) % num_ranks, hop))
    return run


def naive(num_ranks, length):
    run = Run(num_ranks)
    for rank in range(num_ranks):
        others = [other for other in range(num_ranks) if other != rank]
        run.wait(rank, *[run.isend(rank, other, num_elements=length) for other in others])
        run.wait(rank, *[run.irecv(rank, other) for other in others])
    return run


def even(length, num_ranks):
    return [len(chunk) for chunk in np.array_split(np.zeros(length), num_ranks)]


def tail_in_last(length, num_ranks):
    return [length // num_ranks] * (num_ranks - 1) + [length // num_ranks + length % num_ranks]


def rounded_up(length, num_ranks):
    width = -(-length // num_ranks)
    starts = range(0, num_ranks * width, width) if width else [0] * num_ranks
    return [max(min(width, length - start), 0) for start in starts]


def padded(length, num_ranks):
    return [-(-length // num_ranks)] * num_ranks


# Counts ------------------------------------------------------------------------------------


def test_counts_by_rank_and_by_pair():
    """Messages to other ranks count, with what the caller said they hold."""
    run = Run(3)
    run.send(0, 1, 5, num_elements=4)
    run.isend(0, 2, 6, num_elements=0)
    run.isend(0, 1, 7, num_elements=2)
    run.send(2, 0, num_elements=1)
    run.recv(1, 0, 5)
    trace = run.trace()
    assert counting.messages_sent(trace) == [3, 0, 1]
    assert counting.bytes_sent(trace) == [6 * ITEM_NUM_BYTES, 0, ITEM_NUM_BYTES]
    assert [call.tag for call in counting.messages(trace, 0, 1)] == [5, 7]
    assert counting.messages(trace, 1, 0) == []


def test_messages_that_go_nowhere_do_not_count():
    """To oneself, to PROC_NULL, failed, cancelled with an error, or only prepared."""
    run = Run(2)
    run.send(0, 0)
    run.send(0, PROC_NULL)
    run.send(0, 1, error=5)
    run.send(0, 1, function="Send_init")
    assert counting.messages_sent(run.trace()) == [0, 0]
    run.isend(0, 1, function="Start")
    assert counting.messages_sent(run.trace()) == [1, 0]


# Which calls -------------------------------------------------------------------------------


def test_a_collective_where_messages_are_asked_for():
    """The whole sentence, for the lowest rank."""
    run = naive(2, 5)
    run.call(1, "Bcast", file="/tmp/x/my_naive_allreduce.py", line=14, peer=0)
    assert violation(rules.assert_only_point_to_point, run) == (
        "rank 1 called Bcast at my_naive_allreduce.py:14; this part allows point-to-point calls "
        "only"
    )
    run.call(1, "Win_create")
    run.call(0, "Barrier", line=99)
    assert violation(rules.assert_only_point_to_point, run) == (
        "rank 0 called Barrier at ring.py:99 (3 such calls in all); this part allows "
        "point-to-point calls "
        "only"
    )


def test_an_exchange_counts_as_one_call():
    """Though a trace has its send and its receive."""
    run = naive(2, 5)
    run.call(0, "Sendrecv", peer=1, is_send=True)
    run.call(0, "Sendrecv", peer=1, is_receive=True)
    said = violation(rules.assert_only_nonblocking, run)
    assert "rank 0 called Sendrecv at" in said and "such calls" not in said


@pytest.mark.parametrize(
    "function",
    sorted(
        functions.COLLECTIVES
        | functions.ONE_SIDED
        | functions.FILES
        | functions.PROCESSES
        | functions.TOOLS
    ),
)
def test_what_is_no_message_is_not_allowed(function):
    """Neither where messages are asked for nor where non-blocking ones are."""
    run = naive(2, 5)
    run.call(1, function)
    assert f"rank 1 called {function} at" in violation(rules.assert_only_point_to_point, run)
    assert f"rank 1 called {function} at" in violation(rules.assert_only_nonblocking, run)


@pytest.mark.parametrize("function", sorted(functions.NEUTRAL | functions.COMPLETION))
def test_neutral_calls_are_always_allowed(function):
    """Communicators may be made, ranks asked, types built, requests completed."""
    run = naive(2, 5)
    run.call(1, function)
    rules.assert_only_point_to_point(run.trace())
    rules.assert_only_nonblocking(run.trace())


@pytest.mark.parametrize("function", sorted(functions.BLOCKING_POINT_TO_POINT))
def test_blocking_calls_where_non_blocking_ones_are_asked_for(function):
    """They are messages all the same."""
    run = naive(2, 5)
    run.call(0, function)
    rules.assert_only_point_to_point(run.trace())
    said = violation(rules.assert_only_nonblocking, run)
    assert f"rank 0 called {function} at ring.py:50" in said
    calls = "isend, irecv" if function.islower() else "Isend, Irecv"
    assert f"only non-blocking point-to-point calls ({calls}, ...) and waits" in said
    assert ("lower-case recv" in said) == (function in ("Mprobe", "Mrecv"))


def test_a_part_may_tolerate_what_it_names():
    """A barrier at the end of a starter's fit, and nothing else with it."""
    run = naive(2, 5)
    run.call(0, "Barrier")
    rules.assert_only_nonblocking(run.trace(), also={"Barrier"})
    run.call(1, "Bcast")
    said = violation(rules.assert_only_nonblocking, run, also={"Barrier"})
    assert "rank 1 called Bcast at" in said


@pytest.mark.parametrize("function", sorted(functions.NONBLOCKING_POINT_TO_POINT))
def test_non_blocking_calls_are_messages(function):
    """Persistent and partitioned ones included."""
    run = naive(2, 5)
    run.call(0, function)
    rules.assert_only_point_to_point(run.trace())
    rules.assert_only_nonblocking(run.trace())


def test_a_function_that_nobody_knows_proves_nothing():
    """It cannot have been written by our interposer."""
    run = naive(2, 5)
    run.call(0, "Teleport")
    for rule in RULES:
        with pytest.raises(
            NotProven, match=r"rank 0's call at ring.py:50 is inconsistent \(Teleport"
        ):
            rule(run.trace())


def test_pickled_objects():
    """Lower-case calls are told from upper-case ones by what they send."""
    run = naive(2, 5)
    rules.assert_buffers_not_pickles(run.trace())
    run.isend(1, 0, pickled=True)
    assert violation(rules.assert_buffers_not_pickles, run) == (
        "rank 1 sent a pickled object with Isend at ring.py:50, as lower-case calls do (1 such "
        "call in all); use upper-case calls (Isend, Irecv, Allreduce, ...), which send the array "
        "itself"
    )


# Requests ----------------------------------------------------------------------------------


def test_a_request_that_is_never_completed():
    """The whole sentence, with how many there are."""
    run = naive(2, 5)
    rules.assert_requests_completed(run.trace())
    run.isend(0, 1, file="/x/ring.py", line=31)
    for number in ("1 such request", "2 such requests"):
        assert violation(rules.assert_requests_completed, run) == (
            "rank 0: the Isend to rank 1 at ring.py:31 was never completed (no Wait or successful "
            f"Test); {number} in all"
        )
        run.irecv(1, ANY_SOURCE)


@pytest.mark.parametrize(
    ("add", "named"),
    [
        (lambda run: run.irecv(1, ANY_SOURCE), "rank 1: the Irecv from any rank at ring.py:50 was"),
        (lambda run: run.irecv(1, PROC_NULL), "rank 1: the Irecv from PROC_NULL at ring.py:50 was"),
        (
            lambda run: run.call(1, "Ibarrier", creates_request=True),
            "rank 1: the Ibarrier at ring.py:50 was never completed",
        ),
        (
            lambda run: run.isend(1, 0, request_freed=True),
            "rank 1: the Isend to rank 0 at ring.py:50 was incomplete when its request was "
            "freed, so the program cannot know when it may reuse the array; 1 such request in all",
        ),
    ],
)
def test_requests_of_every_kind(add, named):
    """Receives, collectives, and sends that were let go."""
    run = naive(2, 5)
    add(run)
    assert named in violation(rules.assert_requests_completed, run)


@pytest.mark.parametrize(("left", "other"), [("sends", "receives"), ("receives", "sends")])
def test_requests_of_one_kind_alone(left, other):
    """What is left of the other kind is not looked at."""
    run = naive(2, 5)
    run.isend(0, 1) if left == "sends" else run.irecv(0, 1)
    rules.assert_requests_completed(run.trace(), only=other)
    assert "1 such request in all" in violation(rules.assert_requests_completed, run, only=left)


def test_a_request_of_a_rank_whose_calls_are_lost_proves_nothing():
    """The wait for it may be among them."""
    run = naive(2, 5)
    run.isend(0, 1, file="/x/ring.py", line=31)
    first, other = run.trace().ranks
    with pytest.raises(NotProven, match="more calls than the grader keeps"):
        rules.assert_requests_completed(Trace((replace(first, truncated=True), other)))


def test_requests_that_need_no_completion():
    """Cancelled ones, failed ones, persistent ones that were only made."""
    run = naive(2, 5)
    run.irecv(0, 1, cancelled=True)
    run.isend(0, 1, error=3)
    run.call(0, "Recv_init", peer=1)
    rules.assert_requests_completed(run.trace())


# One neighbour -----------------------------------------------------------------------------


@pytest.mark.parametrize("num_ranks", [1, *SIZES])
@pytest.mark.parametrize("step", [1, -1])
@pytest.mark.parametrize("length", [1, 3, 97])
def test_a_ring_has_one_neighbour(num_ranks, step, length):
    """To the right or to the left, with or without empty messages."""
    for skips_empty in (False, True):
        run = ring(num_ranks, even(length, num_ranks), step=step, skips_empty=skips_empty)
        neighbours.assert_one_neighbour(run.trace())


def test_a_message_past_the_neighbour():
    """Whom it went to, and whom it should go to."""
    run = ring(4, even(8, 4))
    run.isend(0, 2)
    assert violation(neighbours.assert_one_neighbour, run) == (
        "rank 0 called Isend at ring.py:190 to send to rank 2, which is not its neighbour. In a "
        "ring of 4 ranks, it "
        "must send only to rank 1, or only to rank 3"
    )


def test_both_directions():
    """In one rank or between ranks; with two ranks both are the same."""
    run = ring(4, even(8, 4))
    run.isend(2, 1)
    assert violation(neighbours.assert_one_neighbour, run) == (
        "rank 0 sent to rank 1 at ring.py:10, but rank 2 sent to rank 1 at ring.py:190; in a ring, "
        "every rank sends in the same direction"
    )
    run = ring(4, even(8, 4))
    run.isend(0, 3)
    assert "rank 0 sent to rank 1 at ring.py:10, and to rank 3 at ring.py:190; in a ring" in (
        violation(neighbours.assert_one_neighbour, run)
    )
    run = Run(3)
    run.send(0, 1)
    run.send(1, 0)
    assert "rank 1 sent to rank 0" in violation(neighbours.assert_one_neighbour, run)
    neighbours.assert_one_neighbour(naive(2, 5).trace())
    assert "neighbour" in violation(neighbours.assert_one_neighbour, naive(4, 5))


def test_a_rank_that_sends_nothing_is_in_no_ring():
    """Unless there is nothing to send."""
    run = Run(3)
    run.send(0, 1)
    assert violation(neighbours.assert_one_neighbour, run) == (
        "ranks 1 and 2 sent nothing; in a ring, every rank sends to one neighbour"
    )
    neighbours.assert_one_neighbour(run.trace(), may_be_silent=True)


# Volume ------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_ranks", [1, *SIZES])
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("cut", [even, tail_in_last, rounded_up, padded])
def test_every_way_to_cut_chunks_is_a_ring(num_ranks, length, cut):
    """However the array is divided, both bounds hold."""
    run = ring(num_ranks, cut(length, num_ranks))
    counting.assert_ring_volume(run.trace(), length, ITEM_NUM_BYTES)


@settings(deadline=None, max_examples=150, derandomize=True)
@given(st.integers(2, 6), st.integers(0, 80), st.integers(1, 6), st.booleans())
def test_segments_and_empty_messages_change_nothing(num_ranks, length, num_segments, skips_empty):
    """An array may go around the ring in segments, an empty message not at all: bytes decide."""
    run = Run(num_ranks)
    for segment in even(length, num_segments):
        chunks = even(segment, num_ranks)
        for hop in range(2 * (num_ranks - 1)):
            for rank in range(num_ranks):
                now = chunks[(rank - hop) % num_ranks]
                if now or not skips_empty:
                    run.send(rank, (rank + 1) % num_ranks, num_elements=now)
    counting.assert_ring_volume(run.trace(), length, ITEM_NUM_BYTES)


@pytest.mark.parametrize("num_ranks", SIZES)
@pytest.mark.parametrize(("num_rows", "row_length"), [(5, 7), (2, 15), (16, 3), (784, 128)])
def test_rows_may_be_kept_together(num_ranks, num_rows, row_length):
    """A grain allows chunks of whole rows."""
    rows = [row_length * number for number in even(num_rows, num_ranks)]
    trace = ring(num_ranks, rows).trace()
    counting.assert_ring_volume(trace, num_rows * row_length, ITEM_NUM_BYTES, grain=row_length)
    if (num_rows, row_length, num_ranks) == (5, 7, 4):
        assert "rank" in violation(counting.assert_ring_volume, trace, 35, ITEM_NUM_BYTES)


@pytest.mark.parametrize("num_ranks", [3, 4, 5, 8, 16])
@pytest.mark.parametrize("num_pieces", [1, 10])
def test_a_chain_of_whole_arrays_is_no_ring(num_ranks, num_pieces):
    """Reduced along the ring to one rank and broadcast along it: the same volume in all."""
    run = Run(num_ranks)
    hops = [*range(num_ranks - 1), *range(num_ranks - 1, 2 * num_ranks - 2)]
    for hop in hops:
        for piece in even(960, num_pieces):
            run.send(hop % num_ranks, (hop + 1) % num_ranks, num_elements=piece)
    neighbours.assert_one_neighbour(run.trace())
    assert sum(counting.bytes_sent(run.trace())) == 2 * (num_ranks - 1) * 960 * ITEM_NUM_BYTES
    said = violation(counting.assert_ring_volume, run, 960, ITEM_NUM_BYTES)
    assert "rank 0 sent 1920 elements (15360 bytes); in a ring, each rank sends at most" in said


@pytest.mark.parametrize("num_ranks", [3, 4, 5, 8, 16])
def test_a_relay_of_whole_arrays_is_no_ring(num_ranks):
    """Nor is the naive exchange."""
    run = Run(num_ranks)
    for _ in range(num_ranks - 1):
        for rank in range(num_ranks):
            run.send(rank, (rank + 1) % num_ranks, num_elements=97)
    for each in (run, naive(num_ranks, 97)):
        said = violation(counting.assert_ring_volume, each, 97, ITEM_NUM_BYTES)
        most = 2 * (num_ranks - 1) * -(-97 // num_ranks)
        assert said == (
            f"rank 0 sent {97 * (num_ranks - 1)} elements ({8 * 97 * (num_ranks - 1)} bytes); in "
            f"a ring, each rank sends at most {most} elements: 2(n - 1) ceil(L/n) with "
            f"n = {num_ranks} ranks and L = 97 elements"
        )


def test_too_little_is_no_ring_either():
    """A tail that never travels."""
    run = ring(4, [3, 3, 3, 3])
    assert violation(counting.assert_ring_volume, run, 13, ITEM_NUM_BYTES) == (
        "the ranks together sent 72 elements (576 bytes); a ring sends 78 elements in all: "
        "2(n - 1) L with n = 4 ranks and L = 13 elements. With chunks padded to equal length, "
        "up to 96 elements are allowed"
    )


def test_nothing_sent_is_a_violation():
    """Unless there is one rank or no element."""
    said = violation(counting.assert_ring_volume, Run(4), 12, ITEM_NUM_BYTES)
    assert said.startswith("no rank sent anything; a ring sends 72 elements in all: 2(n - 1) L")
    assert "no rank sent" in violation(counting.assert_naive_volume, Run(4), 12, ITEM_NUM_BYTES)
    for check in (counting.assert_ring_volume, counting.assert_naive_volume):
        check(Run(4).trace(), 0, ITEM_NUM_BYTES)
        check(Run(1).trace(), 12, ITEM_NUM_BYTES)
    for rule in [*RULES, neighbours.assert_one_neighbour]:
        assert "ranks sent a message" in (said := violation(rule, Run(4))) or "sent nothing" in said
        rule(Run(4).trace(), may_be_silent=True)
        rule(Run(1).trace())


@pytest.mark.parametrize("num_ranks", SIZES)
def test_the_naive_exchange_is_exact(num_ranks):
    """One array to every other, not one element more or less."""
    counting.assert_naive_volume(naive(num_ranks, 13).trace(), 13, ITEM_NUM_BYTES)
    for length in (12, 14):
        said = violation(counting.assert_naive_volume, naive(num_ranks, length), 13, ITEM_NUM_BYTES)
        assert (
            f"the naive exchange, each rank sends {13 * (num_ranks - 1)} elements: (n - 1) L"
            in said
        )


def test_a_star_is_not_the_naive_exchange():
    """Everybody to rank 0 and back."""
    run = Run(4)
    for rank in (1, 2, 3):
        run.send(rank, 0, num_elements=13)
        run.send(0, rank, num_elements=13)
    said = violation(counting.assert_naive_volume, run, 13, ITEM_NUM_BYTES)
    assert said.startswith(
        "rank 1 sent 13 elements (104 bytes); in the naive exchange, each rank sends 39"
    )


def test_arrays_that_are_passed_on_are_not_the_naive_exchange():
    """As much is sent by each rank, but not to each other one."""
    run = Run(4)
    for rank in range(4):
        for _ in range(3):
            run.send(rank, (rank + 1) % 4, num_elements=13)
    assert violation(counting.assert_naive_volume, run, 13, ITEM_NUM_BYTES) == (
        "rank 0 sent 39 elements (312 bytes) to rank 1; in the naive exchange, each rank sends "
        "its own array (length 13) to every other rank"
    )


def test_bytes_that_are_no_whole_elements():
    """They are given as they are."""
    run = Run(2)
    run.send(0, 1, num_bytes=100)
    run.send(1, 0, num_bytes=104)
    said = violation(counting.assert_naive_volume, run, 13, ITEM_NUM_BYTES)
    assert said.startswith("rank 0 sent 100 bytes (12.5 elements); in the naive exchange")


def test_pickles_are_forgiven_their_header():
    """Lower-case calls cost the test that asks for buffers, not this one."""
    run = Run(2)
    for rank in range(2):
        run.send(rank, 1 - rank, num_bytes=13 * 8 + 170, pickled=True)
    counting.assert_naive_volume(run.trace(), 13, ITEM_NUM_BYTES)
    counting.assert_ring_volume(run.trace(), 13, ITEM_NUM_BYTES)
    run.send(0, 1, num_elements=170)
    assert "rank 0 sent" in violation(counting.assert_naive_volume, run, 13, ITEM_NUM_BYTES)


# Collectives -------------------------------------------------------------------------------


# Evidence ----------------------------------------------------------------------------------

EVERY_CHECK = [
    *RULES,
    neighbours.assert_one_neighbour,
    counting.assert_not_truncated,
    lambda trace: counting.assert_naive_volume(trace, 13, ITEM_NUM_BYTES),
    lambda trace: counting.assert_ring_volume(trace, 13, ITEM_NUM_BYTES),
]


@pytest.mark.parametrize("check", EVERY_CHECK)
@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({"truncated": True}, "rank 1 made more calls than the grader keeps"),
        ({"attached": False}, "rank 1's calls were not recorded"),
    ],
)
def test_an_incomplete_trace_proves_nothing(check, state, said):
    """It would have passed; what is wrong in it still is a violation."""
    run = naive(2, 13)
    check(run.trace())
    run.state(1, **state)
    with pytest.raises(NotProven, match=said):
        check(run.trace())
    run.call(0, "Bcast")
    assert "Bcast" in violation(rules.assert_only_point_to_point, run)


@pytest.mark.parametrize("fields", [{"peer": 10**9}, {"peer": -7}, {"num_bytes": -1}])
@pytest.mark.parametrize("check", EVERY_CHECK)
def test_a_send_that_makes_no_sense_proves_nothing(check, fields):
    """A record like this was not written by us."""
    run = naive(2, 13)
    run.wait(0, run.isend(0, 1, **fields))
    with pytest.raises(NotProven, match="is inconsistent"):
        check(run.trace())


_NUMBER = st.one_of(st.integers(-4, 6), st.sampled_from([10**9, -(10**9), 2**63 - 1]))
_CALLS = st.builds(
    Call,
    function=st.one_of(st.sampled_from(sorted(functions.ALL)), st.text(max_size=4)),
    file=st.text(max_size=4),
    waits_for=st.lists(_NUMBER, max_size=2).map(tuple),
    **{
        name: _NUMBER.map(partial(as_recorded, name)) if kind is int else st.booleans()
        for name, kind in Call.__annotations__.items()
        if kind in (int, bool)
    },
)
_RANKS = st.lists(_CALLS, max_size=4).map(
    lambda calls: RankTrace(0, tuple(calls), True, True, False, -1, False, 0, 0, False)
)


@settings(deadline=None, max_examples=150, derandomize=True)
@given(st.lists(_RANKS, max_size=3).map(lambda ranks: Trace(tuple(ranks))))
def test_garbage_never_crashes(trace):
    """Every check passes, or finds something; the counts are counts."""
    for check in EVERY_CHECK:
        try:
            check(trace)
        except (RuleViolation, NotProven) as finding:
            assert str(finding).isprintable()
    assert all(number >= 0 for number in counting.messages_sent(trace))
    assert all(number >= 0 for number in counting.bytes_sent(trace))


@pytest.mark.parametrize("function", ["Dist_graph_create", "Comm_agree", "Comm_shrink"])
def test_rare_collectives_carry_data(function):
    """What makes a graph with weights, or agrees on a number, is no neutral call."""
    run = naive(4, 3)
    run.call(2, function)
    text = violation(rules.assert_only_point_to_point, run)
    assert f"rank 2 called {function}" in text


def test_many_communicators_carry_data():
    """A few are made to send over them; hundreds beside a few messages speak for themselves."""
    run = naive(4, 3)
    for _ in range(16):
        run.call(1, "Comm_split")
    rules.assert_only_point_to_point(run.trace())
    run.call(1, "Cart_create")
    text = violation(rules.assert_only_point_to_point, run)
    assert "rank 1 created 17 new communicators, the first with Comm_split" in text
    assert "sent or received 6 messages" in text


def test_communicators_for_each_use_are_no_violation():
    """Whoever makes two of them for each reduction sends over them as often."""
    run = Run(2)
    for _ in range(100):
        for rank in range(2):
            run.call(rank, "Comm_split")
            run.call(rank, "Cart_create")
            run.call(rank, "Comm_dup")
            run.isend(rank, 1 - rank)
    rules.assert_only_point_to_point(run.trace())
    alone = Run(1)
    for _ in range(100):
        alone.call(0, "Cart_create")
    rules.assert_only_point_to_point(alone.trace())

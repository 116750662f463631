"""explain_deadlock against a toy MPI that knows the truth, and against garbage."""

from dataclasses import replace
from functools import partial

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from grader.trace.calls import ANY_SOURCE, ANY_TAG, Call, RankTrace, Trace
from grader.trace.functions import ALL

from ..build import as_recorded, explain_deadlock
from ..machine import Machine

_TAGS = st.integers(0, 1)
_LISTENED_TAGS = st.sampled_from([0, 1, ANY_TAG])
_NUMBERS = st.lists(st.integers(0, 5), min_size=1, max_size=3)
_MODEST = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


def _operations(num_ranks, wildcards):
    ranks = st.integers(0, num_ranks - 1)
    sources = st.sampled_from([*range(num_ranks), *([ANY_SOURCE] * wildcards)])
    listen = [st.tuples(st.just(name), sources, _LISTENED_TAGS) for name in ("recv", "irecv")]
    look = [st.tuples(st.just(name), sources, _LISTENED_TAGS) for name in ("probe", "poll_probe")]
    speak = [st.tuples(st.just(name), ranks, _TAGS, st.booleans()) for name in ("send", "isend")]
    waits = [
        st.builds(lambda numbers, name=name: (name, *numbers), _NUMBERS)
        for name in ("waitall", "waitany", "poll_all", "poll_any")
    ]
    together = [
        st.just(("barrier",)),
        st.just(("ibarrier",)),
        st.tuples(st.just("exchange"), ranks, sources, _TAGS),
    ]
    return st.one_of(*speak, *listen, *speak, *listen, *waits, *look, *together)


@st.composite
def _programs(draw, wildcards, *, waits_for_all=True):
    num_ranks = draw(st.integers(2, 4))
    operations = _operations(num_ranks, wildcards)
    programs = draw(
        st.lists(st.lists(operations, max_size=7), min_size=num_ranks, max_size=num_ranks)
    )
    if not waits_for_all:
        return programs
    # A rank that returns has no receive open, as the toy does not model that it stops answering.
    return [[*program, ("waitall", *range(9))] for program in programs]


@_MODEST
@given(_programs(wildcards=0), st.integers(0, 1000))
def test_a_hang_is_proven_exactly_when_there_is_one(programs, seed):
    """Without ANY_SOURCE the trace tells everything: no false alarm, and no hang unexplained."""
    machine = Machine(programs, seed)
    while machine.ready():
        assert explain_deadlock(machine.trace(), machine.returned) is None
        machine.step()
    explanation = explain_deadlock(machine.trace(), machine.returned)
    everybody_returned = len(machine.returned) == len(programs)
    assert (explanation is None) == everybody_returned


@_MODEST
@given(_programs(wildcards=0, waits_for_all=False), st.integers(0, 1000))
def test_the_same_where_ranks_that_returned_make_progress(programs, seed):
    """What they have posted and not waited for is served, as in the toy; no more comes of them."""
    machine = Machine(programs, seed)
    while machine.ready():
        assert explain_deadlock(machine.trace(), machine.returned, makes_progress=True) is None
        machine.step()
    explanation = explain_deadlock(machine.trace(), machine.returned, makes_progress=True)
    everybody_returned = len(machine.returned) == len(programs)
    assert (explanation is None) == everybody_returned


@_MODEST
@given(_programs(wildcards=2), st.integers(0, 1000))
def test_wildcards_raise_no_false_alarm(programs, seed):
    """With ANY_SOURCE a run that can go on is never called hanging."""
    machine = Machine(programs, seed)
    while machine.ready():
        assert explain_deadlock(machine.trace(), machine.returned) is None
        machine.step()
    if not machine.has_open_wildcards() and len(machine.returned) < len(programs):
        assert explain_deadlock(machine.trace(), machine.returned) is not None


@_MODEST
@given(_programs(wildcards=1), st.integers(0, 1000))
def test_a_hang_names_each_waiting_rank_once(programs, seed):
    """Every rank that has not returned is in the sentence, with its line; no other waits."""
    machine = Machine(programs, seed)
    while machine.ready():
        machine.step()
    explanation = explain_deadlock(machine.trace(), machine.returned)
    assume(explanation is not None)
    waiting = set(range(len(programs))) - machine.returned
    for rank in range(len(programs)):
        number = explanation.count(f"; rank {rank} waits in ") + explanation.count(
            f"; rank {rank} polls with "
        )
        number += explanation.startswith(
            (f"deadlock: rank {rank} waits", f"deadlock: rank {rank} p")
        )
        assert number == (rank in waiting), explanation
    assert "\n" not in explanation


def test_the_toy_hangs_and_the_toy_ends():
    """The properties above see both kinds of run."""
    hangs = Machine([[("recv", 1, 0)], [("recv", 0, 0)]], 0)
    assert not hangs.ready()
    assert not hangs.returned
    ends = Machine([[("send", 1, 0, True)], [("recv", 0, 0)]], 0)
    while ends.ready():
        ends.step()
    assert ends.returned == {0, 1}


# Garbage -----------------------------------------------------------------------------------

_NUMBER = st.one_of(
    st.integers(-4, 6), st.sampled_from([10**9, -(10**9), 2**31 - 1, -(2**63), 2**63 - 1])
)
_NAMES = st.one_of(st.sampled_from(sorted(ALL)), st.text(max_size=5), st.just("Recv"))
_CALLS = st.builds(
    Call,
    function=_NAMES,
    file=st.text(max_size=5),
    waits_for=st.lists(_NUMBER, max_size=4).map(tuple),
    **{
        name: _NUMBER.map(partial(as_recorded, name)) if kind is int else st.booleans()
        for name, kind in Call.__annotations__.items()
        if kind in (int, bool)
    },
)
_RANKS = st.builds(
    RankTrace,
    rank=_NUMBER,
    calls=st.lists(_CALLS, max_size=6).map(tuple),
    attached=st.just(True),
    initialised=st.booleans(),
    finalised=st.booleans(),
    inside=_NUMBER,
    polling=st.booleans(),
    progress=_NUMBER,
    num_failed_polls=_NUMBER,
    truncated=st.just(False),
)
_TRACES = st.lists(_RANKS, max_size=4).map(lambda ranks: Trace(tuple(ranks)))


@_MODEST
@given(_TRACES, st.frozensets(_NUMBER, max_size=3))
def test_garbage_never_crashes(trace, returned):
    """Records that no interposer would write give an answer all the same."""
    answer = explain_deadlock(trace, returned)
    assert answer is None or (answer.startswith("deadlock: ") and answer.isprintable())


@_MODEST
@given(
    programs=_programs(wildcards=1),
    rank=st.integers(0, 3),
    call=st.integers(0, 6),
    field=st.sampled_from(["peer", "tag", "communicator", "communicator_size", "sequence"]),
    value=st.sampled_from([10**9, -(10**9), -1, 2**63 - 1]),
)
def test_one_wrong_number_never_crashes(programs, rank, call, field, value):
    """A real trace with one number replaced."""
    machine = Machine(programs, 1)
    while machine.ready():
        machine.step()
    trace = machine.trace()
    ranks = list(trace.ranks)
    rank %= len(ranks)
    calls = list(ranks[rank].calls)
    if calls:
        changed = {field: as_recorded(field, value)}
        calls[call % len(calls)] = replace(calls[call % len(calls)], **changed)
    ranks[rank] = replace(ranks[rank], calls=tuple(calls))
    explain_deadlock(Trace(tuple(ranks)), machine.returned)

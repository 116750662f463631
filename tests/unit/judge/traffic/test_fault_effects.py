"""What follows from messages that were altered on their way; checked against simulated rings."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.judge.check_failures import NotProven
from grader.judge.traffic.fault_effects import (
    FaultEffect,
    assert_answers_follow,
    assert_messages_matter,
    assert_ring_influence,
    assert_some_message_matters,
    effect_of,
)
from grader.judge.traffic.message_faults import (
    counted_sends,
    every_contribution_fault,
    every_message_fault,
    in_drawn_order,
    single_message_faults,
)
from grader.model.report import MessageFault, Outcome, RunFailure, Verdict

from ..build import Run

RANKS = 4


def outcome_of(trace, seed=1, num_altered=0):
    random = np.random.default_rng(seed)
    inputs = tuple({"send": random.random(3), "op": "np.add"} for _ in trace.ranks)
    results = tuple({} for _ in trace.ranks)
    return Outcome("a case", len(trace.ranks), inputs, results, trace, 0.1, num_altered=num_altered)


def exchange(num_elements=8):
    """Everybody sends everybody one message."""
    run = Run(RANKS)
    for rank in range(RANKS):
        for other in range(RANKS):
            if other != rank:
                run.isend(rank, other, num_elements=num_elements)
    return run.trace()


def effect(rank, number, *influenced, happened=True, ended=False):
    return FaultEffect(MessageFault(rank, number), happened, frozenset(influenced), ended, ended)


# What an alteration led to -----------------------------------------------------------------


def test_the_ranks_that_are_wrong_are_influenced():
    """Nothing is said of a case in which no message left altered."""
    message = MessageFault(1, 0)
    altered = outcome_of(exchange(), num_altered=1)
    assert effect_of(message, altered, 4, lambda outcome: [2]) == effect(1, 0, 2)
    untouched = replace(altered, num_altered=0)
    assert not effect_of(message, untouched, 4, lambda outcome: []).happened


@pytest.mark.parametrize(
    ("kind", "noticed"),
    [
        ("exception: zlib.error: Error -3 while decompressing data", False),
        ("exception: error: Error -3 while decompressing data", False),
        ("exception: UnpicklingError: invalid load key, '\\x00'.", False),
        ("exception: RuntimeError: PytorchStreamReader failed reading file data/0", False),
        ("exception: JSONDecodeError: Expecting value", False),
        ("exception: RuntimeError: message of rank 1 was damaged", True),
        ("exception: RuntimeError: error: damaged message", True),
        ("exception: RuntimeError: Invalid magic number; corrupt file?", False),
        (
            "exception: AttributeError: Can't get attribute '_rebuild_tensor_w2' on torch._utils",
            False,
        ),
        ("exception: AttributeError: 'NoneType' object has no attribute 'shape'", True),
        ("exception: ValueError: an error in what rank 1 sent", True),
        ("SIGSEGV", True),
        ("", True),
    ],
)
def test_a_run_that_ended_is_an_influence(kind, noticed):
    """Who looks at numbers may have them from elsewhere; packed bytes cannot be read any more."""
    failure = RunFailure(Verdict.RUN_TIME_ERROR, "rank 1 raised", kind=kind)
    found = effect_of(MessageFault(1, 0), failure, 4, lambda outcome: [])
    assert found == replace(effect(1, 0, 0, 1, 2, 3, ended=True), noticed=noticed)
    assert_messages_matter(exchange(), [found])
    with pytest.raises(NotProven) if noticed else nullcontext():
        assert_answers_follow(exchange(), [found])


# Whether messages matter -------------------------------------------------------------------


def test_messages_that_matter_are_proven():
    """One influenced rank is enough."""
    effects = [effect(1, 0, 2), effect(2, 1, 0)]
    assert_messages_matter(exchange(), effects)
    assert_some_message_matters(effects)


def test_a_message_without_influence_is_named():
    """The sentence tells the rank, which message it was, where it was sent, and what to do."""
    effects = [effect(0, 1, 2), effect(2, 2)]
    assert_some_message_matters(effects)
    with pytest.raises(NotProven) as caught:
        assert_messages_matter(exchange(), effects)
    assert str(caught.value) == (
        "we changed rank 2's 3rd message (Isend at ring.py:30), but no result changed. The "
        "results might not come from the messages; your instructor reviews this part"
    )


def test_several_messages_without_influence():
    """Where some may be superfluous, all of them are not."""
    with pytest.raises(NotProven, match=r"^we changed 2 messages, .* no result changed"):
        assert_some_message_matters([effect(0, 1), effect(2, 2), effect(1, 0, happened=False)])


def test_all_messages_of_a_rank_without_influence():
    """The place is that of the first one that was long enough."""
    run = Run(2)
    run.send(1, 0, num_elements=1)
    run.send(1, 0, num_elements=100)
    effects = [FaultEffect(MessageFault(1, None, min_num_bytes=400), True, frozenset())]
    with pytest.raises(
        NotProven, match=r"^we changed all messages that rank 1 sent \(the first: Send at .*20"
    ):
        assert_messages_matter(run.trace(), effects)


def test_some_messages_of_a_rank_without_influence():
    """The place is that of the first one that was changed."""
    run = Run(2)
    run.send(1, 0, num_elements=1)
    for _ in range(3):
        run.send(1, 0, num_elements=100)
    some = MessageFault(1, 1, min_num_bytes=400, num_messages=2)
    with pytest.raises(
        NotProven, match=r"^we changed 2 of the messages that rank 1 sent \(the first: Send at .*30"
    ):
        assert_messages_matter(run.trace(), [FaultEffect(some, True, frozenset())])


def test_one_array_passed_to_collectives_is_no_message():
    one = MessageFault(1, 0, of_collectives=True)
    with pytest.raises(NotProven, match=r"^we changed rank 1's 1st array passed to collectives"):
        assert_messages_matter(Run(2).trace(), [FaultEffect(one, True, frozenset())])


@pytest.mark.parametrize("effects", [[], [effect(0, 0, 1, happened=False)]])
def test_no_alteration_proves_nothing(effects):
    """A check that could not be made is not one that has passed."""
    for check in (
        assert_some_message_matters,
        lambda found: assert_messages_matter(exchange(), found),
    ):
        with pytest.raises(NotProven, match="could not change any message"):
            check(effects)


def test_an_alteration_that_did_not_happen_is_held_against_nobody():
    """Its case says nothing; the others do."""
    effects = [effect(0, 0, happened=False), effect(1, 0, 3)]
    assert_messages_matter(exchange(), effects)
    assert_some_message_matters(effects)


@pytest.mark.parametrize(("number", "told"), [(0, "1st"), (1, "2nd"), (10, "11th"), (20, "21st")])
def test_ordinals(number, told):
    """As people write them."""
    with pytest.raises(NotProven, match=f"rank 0's {told} message"):
        assert_messages_matter(Run(2).trace(), [effect(0, number)])


# Rings -------------------------------------------------------------------------------------


class Ring:
    """A ring all-reduce hop by hop: each chunk is summed once around, then its sum goes around.

    order: in which order each rank goes through its hops, as a key of (chunk, hop).
    """

    def __init__(self, after, order, first=0, messages_per_chunk=1):
        self.after, self.n = after, len(after)
        self.position = [0] * self.n
        place, rank = [0] * self.n, 0
        for index in range(self.n):
            place[index], rank = rank, after[rank]
        self.hops = {rank: [] for rank in range(self.n)}
        for chunk in range(self.n):
            for hop in range(2 * (self.n - 1)):
                sender = place[(chunk + first + hop) % self.n]
                self.hops[sender] += [(chunk, hop)] * messages_per_chunk
        for rank in self.hops:
            self.hops[rank].sort(key=order)

    def trace(self):
        run = Run(self.n)
        for rank, hops in self.hops.items():
            for _ in hops:
                run.isend(rank, self.after[rank], num_elements=5)
        return run.trace()

    def influenced(self, rank, number):
        """Return who is reached by a change of this message."""
        _, hop = self.hops[rank][number]
        reached, at = set(), rank
        for _ in range(hop, 2 * (self.n - 1)):
            at = self.after[at]
            reached.add(at)
        # What is changed while it is summed becomes part of the sum, which comes to all.
        return frozenset(range(self.n)) if hop < self.n - 1 else frozenset(reached)

    def effects(self):
        messages = single_message_faults(outcome_of(self.trace()))
        return [FaultEffect(m, True, self.influenced(m.rank, m.number)) for m in messages]


def lockstep(hop):
    return hop[1]


def chunk_by_chunk(hop):
    return hop


ORDERS = st.sampled_from([lockstep, chunk_by_chunk])


@given(
    st.permutations(range(1, 5)), st.integers(2, 5), ORDERS, st.integers(0, 4), st.integers(1, 3)
)
def test_every_right_ring_passes(numbers, n, order, first, messages_per_chunk):
    """Whichever way around, from wherever, in whichever order, in how many pieces."""
    circle = [0, *(number for number in numbers if number < n)]
    after = [circle[(circle.index(rank) + 1) % n] for rank in range(n)]
    ring = Ring(after, order, first, messages_per_chunk)
    assert_ring_influence(ring.trace(), ring.effects())


def test_decoys_in_a_ring_do_not_pass():
    """The empty influence set is told in the words of all such messages."""
    ring = Ring([1, 2, 3, 0], lockstep)
    decoys = [replace(each, influenced=frozenset()) for each in ring.effects()]
    with pytest.raises(NotProven, match="no result changed"):
        assert_ring_influence(ring.trace(), decoys)


def test_an_influence_that_does_not_run_along_the_ring():
    """A change that its receiver does not see came some other way."""
    ring = Ring([1, 2, 3, 0], lockstep)
    effects = [replace(each, influenced=frozenset([0, 2])) for each in ring.effects()]
    with pytest.raises(NotProven, match=r"the results of ranks 0 and 2 changed. In a ring, those"):
        assert_ring_influence(ring.trace(), effects)


def test_a_ring_whose_every_message_reaches_only_its_receiver():
    """Then the sums are not made by what goes around."""
    ring = Ring([1, 2, 3, 0], lockstep)
    effects = [
        replace(each, influenced=frozenset([ring.after[each.message.rank]]))
        for each in ring.effects()
    ]
    with pytest.raises(
        NotProven,
        match=r"In ascending order, the results of 1, 1, 1, 1, 1, and 1 ranks changed; in a ring, "
        r"it would be 1, 2, 3, 4, 4, and 4\.",
    ):
        assert_ring_influence(ring.trace(), effects)


def test_a_ring_that_refuses_what_was_altered_is_not_believed():
    """It knew the right numbers from elsewhere; how far the change would have come is not known."""
    ring = Ring([1, 2, 3, 0], lockstep)
    everybody = frozenset(range(4))
    effects = [
        replace(each, influenced=everybody, ended=True, noticed=True) for each in ring.effects()
    ]
    with pytest.raises(NotProven, match="the run ended without results"):
        assert_ring_influence(ring.trace(), effects)
    with pytest.raises(NotProven, match="no run produced results"):
        assert_some_message_matters(effects)
    one_answer = [replace(effects[0], ended=False, noticed=False), *effects[1:]]
    assert_some_message_matters(one_answer)


def test_what_is_no_ring_is_left_to_other_checks():
    """Everybody to everybody, two rings of two: influence is all that is asked of them."""
    assert_ring_influence(exchange(), [effect(1, 0, 2)])
    pairs = Run(4)
    for rank in range(4):
        pairs.isend(rank, rank ^ 1)
    assert_ring_influence(pairs.trace(), [effect(1, 0, 2)])


# Which messages ----------------------------------------------------------------------------


def test_all_messages_of_one_rank_and_one_of_each_other_are_chosen():
    """Sends to oneself and to nobody are counted, but not chosen."""
    run = Run(3)
    for rank in range(3):
        run.isend(rank, rank)
        for _ in range(3):
            run.isend(rank, (rank + 1) % 3)
        run.isend(rank, 0, num_elements=0)
    outcome = outcome_of(run.trace())
    chosen = single_message_faults(outcome)
    by_rank = {rank: [m.number for m in chosen if m.rank == rank] for rank in range(3)}
    assert sorted(map(len, by_rank.values())) == [1, 1, 3]
    assert max(by_rank.values(), key=len) == [1, 2, 3]
    assert all(0 <= m.position < 1 for m in chosen)
    assert single_message_faults(outcome) == chosen
    assert single_message_faults(outcome_of(Run(2).trace())) == ()


def test_of_thousands_of_messages_few_are_altered():
    """As many of one rank as a ring of these ranks has steps, drawn anew for other inputs."""
    run = Run(4)
    for rank in range(4):
        for _ in range(1000):
            run.send(rank, (rank + 1) % 4)
    choices = {single_message_faults(outcome_of(run.trace(), seed)) for seed in range(5)}
    assert len(choices) == 5
    for chosen in choices:
        assert len(chosen) == 6 + 3
        assert len({(each.rank, each.number) for each in chosen}) == len(chosen)
        assert {each.rank for each in chosen} == {0, 1, 2, 3}


def test_the_choice_depends_on_the_inputs():
    """Nobody who does not know them knows which messages, elements and order it will be."""
    choices = {single_message_faults(outcome_of(exchange(), seed)) for seed in range(20)}
    assert len(choices) == 20
    assert len({choice[0].rank for choice in choices}) == RANKS
    orders = {tuple(in_drawn_order(outcome_of(exchange(), seed), range(9))) for seed in range(20)}
    assert len(orders) == 20
    assert all(sorted(order) == list(range(9)) for order in orders)


def test_every_message_means_those_that_carry_data():
    """Half as long as the rank's longest, unless a length is given."""
    run = Run(3)
    for length in (1, 40, 100):
        run.send(1, 0, num_elements=length)
    outcome = outcome_of(run.trace())
    (found,) = every_message_fault(outcome, range(3))
    assert (found.rank, found.number, found.min_num_bytes) == (1, None, 400)
    assert len(counted_sends(outcome.trace, 1, 400)) == 1
    (found,) = every_message_fault(outcome, [1], min_num_bytes=300)
    assert len(counted_sends(outcome.trace, 1, found.min_num_bytes)) == 2
    assert every_message_fault(outcome, [1], min_num_bytes=801) == ()


def test_every_contribution_means_those_that_carry_data():
    """Of collectives that can be altered; who makes none, or only others, is left out."""
    run = Run(4)
    for length in (1, 40, 100):
        run.call(1, "Allreduce", num_elements=length, num_bytes=8 * length)
        run.send(2, 0, num_elements=length)
        run.call(3, "Alltoallv", num_elements=length, num_bytes=8 * length)
    (found,) = every_contribution_fault(outcome_of(run.trace()), range(4))
    assert (found.rank, found.number, found.min_num_bytes) == (1, None, 400)
    assert found.of_collectives
    assert found.text == "every contribution of rank 1 to a collective altered"
    with pytest.raises(NotProven) as caught:
        assert_messages_matter(run.trace(), [FaultEffect(found, True, frozenset())])
    assert str(caught.value) == (
        "we changed everything that rank 1 passed to collectives (the first: Allreduce at "
        "ring.py:30), but no result changed. The results might not come from the messages; your "
        "instructor reviews this part"
    )

"""Which messages are altered to see whether training comes from them, and what follows."""

import contextlib
from dataclasses import replace

import numpy as np
import pytest
from federated import lenet
from federated.origins import assert_same_run, faults_in
from federated.training_cases import Training

from grader.grading_plugin.launch_results import make_launch
from grader.judge.check_failures import NotProven, RuleViolation, WrongAnswer
from grader.model.finding import found
from grader.model.report import Outcome
from grader.trace.calls import NO_PEER

from ...judge import build
from .runs import raises

CASE = Training("train", file="dist.py", num_training=100)
RANKS, NUM_STEPS = 3, 2
WORKERS = range(1, RANKS)
MODEL = lenet.MODEL_NUM_BYTES


def send(sequence, peer, num_bytes):
    fields = {"peer": peer, "num_elements": num_bytes, "num_bytes": num_bytes, "pickled": True}
    fields |= {"communicator_size": RANKS, "file": "dist.py", "line": 10 + sequence}
    return build.call("Send", sequence=sequence, **fields)


def trace_of(lengths_by_rank):
    """Workers send to the server."""
    return build.trace_of(
        [send(i, 0, length) for i, length in enumerate(lengths_by_rank.get(rank, ()))]
        for rank in range(RANKS)
    )


class Script:
    """depends: whether training goes another way when messages are altered."""

    def __init__(self, lengths_by_rank, depends=True, seed=1):
        self.seed = seed
        self.trace = trace_of(lengths_by_rank)
        self.depends = depends
        self.orders = []

    def run(self, ranks, cases):
        self.orders += [case.message_fault for case in cases if case.message_fault]
        return make_launch(cases, [self.outcome(case) for case in cases], ranks)

    def outcome(self, case):
        altered = case.message_fault is not None
        model = np.full(lenet.NUM_PARAMETERS, 1 + (altered and self.depends), dtype=np.float32)
        result = {
            "model": model,
            "gradient": np.zeros(0, dtype=np.float32),
            "aggregate": np.zeros(0, dtype=np.float32),
            "rows": np.arange(3),
            "seen": np.zeros((1, lenet.NUM_PARAMETERS), dtype=np.float32),
        }
        given = {"labels": np.arange(3), "seed": self.seed}
        return Outcome(
            case.label, RANKS, (given,) * RANKS, (result,) * RANKS, self.trace, 0.1, int(altered)
        )

    def faults(self):
        return faults_in(self.run, CASE, self.outcome(CASE), [])


GRADIENTS = (8, MODEL, 8, MODEL)
ONE_BY_ONE = (8, 192_000, 40_000, 3_000) * NUM_STEPS


@pytest.mark.parametrize("lengths", [GRADIENTS, ONE_BY_ONE])
def test_training_that_depends_on_messages_is_proven(lengths):
    """Each sender's longer messages are altered together, and numbers beside them are not."""
    script = Script({1: lengths, 2: lengths})
    faults = script.faults()
    faults.assert_some_matter(WORKERS, 1, num_used=lambda: 0)
    faults.assert_each_matters(WORKERS, NUM_STEPS)
    assert {order.rank for order in script.orders} == {1, 2}
    assert all(order.number is None for order in script.orders)
    assert all(8 < order.min_num_bytes <= 192_000 for order in script.orders)


def test_of_many_messages_a_third_is_altered_after_the_first_third():
    """Which, the seed decides: who uses only the first messages must not get by."""
    drawn = set()
    for seed in range(30):
        script = Script({1: 9 * GRADIENTS[:2], 2: 9 * GRADIENTS[:2]}, seed=seed)
        script.faults().assert_some_matter(WORKERS, 2, num_used=lambda: 0)
        assert {order.num_messages for order in script.orders} == {3}
        drawn |= {order.number for order in script.orders}
    assert drawn == {3, 4, 5}


def test_training_that_does_not_is_not_proven():
    """The first sender is named, with the line of its first message of that length."""
    faults = Script({1: GRADIENTS, 2: GRADIENTS}, depends=False).faults()
    for judge in (
        lambda: faults.assert_some_matter(WORKERS, 1, num_used=lambda: 1),
        lambda: faults.assert_each_matters(WORKERS, NUM_STEPS),
    ):
        with pytest.raises(NotProven, match=r"\(.* Send at dist.py:11\)") as error:
            judge()
        cause = error.value.findings[0]
        assert cause.key == "evidence.altered_message_without_effect"
        assert cause.facts["rank"] in WORKERS


@pytest.mark.parametrize(("depends", "holds"), [(1, True), (1e-3, False)])
def test_a_number_that_is_altered_must_change_a_model_by_so_much(depends, holds):
    """Who adds a little of what came to what it computes by itself does not average."""
    faults = Script({1: GRADIENTS, 2: GRADIENTS}, depends=depends).faults()
    faults.assert_some_matter(WORKERS, 2, num_used=lambda: 1)
    with (
        contextlib.nullcontext()
        if holds
        else raises("evidence.altered_message_changes_little", kind=NotProven, rank=1)
    ):
        faults.assert_changes(WORKERS, 0.5)


def test_training_on_own_results_is_only_wrong():
    """Messages without effect leave no doubt where the numbers show that nobody used them."""
    faults = Script({1: GRADIENTS, 2: GRADIENTS}, depends=False).faults()
    with raises("training.on_own_results", kind=WrongAnswer):
        faults.assert_some_matter(WORKERS, 1, num_used=lambda: 0)


def test_other_senders_wait_until_the_first_was_in_vain():
    """Whether anything depends on messages is known from one; each is asked about later."""
    script = Script({1: GRADIENTS, 2: GRADIENTS})
    script.faults().assert_some_matter(WORKERS, 1, num_used=lambda: 0)
    assert [order.rank for order in script.orders] == [2]

    class OnlyTheFirstIsUsed(Script):
        def outcome(self, case):
            self.depends = case.message_fault is not None and case.message_fault.rank == 1
            return super().outcome(case)

    script = OnlyTheFirstIsUsed({1: GRADIENTS, 2: GRADIENTS})
    script.faults().assert_some_matter(WORKERS, 1, num_used=lambda: 0)
    assert {order.rank for order in script.orders} == {1, 2}
    with raises("evidence.altered_message_without_effect", kind=NotProven, rank=2):
        script.faults().assert_each_matters(WORKERS, NUM_STEPS)


def test_a_last_model_that_nobody_needs_is_left_alone():
    """A rank that sends fewer than it has to give gives the others in another way."""
    Script({1: (8, MODEL)}, depends=False).faults().assert_each_matters(WORKERS, NUM_STEPS)


def test_who_gives_nothing_is_told_with_what_a_model_has():
    with raises("traffic.gives_nothing", "248,024", RuleViolation, rank=1, num_bytes=16):
        Script({1: (8, 8)}).faults().assert_some_matter(WORKERS, 1, num_used=lambda: 1)


def given(function, *, is_zeros):
    """Return a call that gives a model to a collective."""
    samples = {"sampled_num_bytes": 8} if is_zeros else {"sampled_num_bytes": MODEL}
    peer = {"peer": NO_PEER, "is_send": False, "pickled": False}
    return replace(send(0, 0, MODEL), function=function, **peer, **samples)


class Collectives(Script):
    """Ranks that give these calls to collectives."""

    def __init__(self, calls_of):
        super().__init__({})
        ranks = [
            replace(
                seen, calls=[replace(call, sequence=i) for i, call in enumerate(calls_of(rank))]
            )
            for rank, seen in enumerate(self.trace.ranks)
        ]
        self.trace = replace(self.trace, ranks=tuple(ranks))


def persistent(rank):
    """What a buffer holds when its request is made is not given."""
    return [given("Allreduce_init", is_zeros=True), given("Start", is_zeros=False)]


def gathered_by_sums(rank):
    """Of every rank in turn, with zeros of all others."""
    return [given("Allreduce", is_zeros=root != rank) for root in range(RANKS)] * NUM_STEPS


@pytest.mark.parametrize("calls_of", [persistent, gathered_by_sums])
def test_zeros_beside_what_is_needed_are_right(calls_of):
    Collectives(calls_of).faults().assert_some_matter(WORKERS, 1, num_used=lambda: 1)


@pytest.mark.parametrize(
    "calls_of",
    [
        lambda rank: [given("Allreduce", is_zeros=True)] * NUM_STEPS,
        lambda rank: [given("Allreduce_init", is_zeros=False), given("Start", is_zeros=True)],
    ],
)
def test_who_gives_zeros_only_proves_nothing(calls_of):
    with raises("evidence.zeros_given", kind=NotProven, rank=1):
        Collectives(calls_of).faults().assert_some_matter(WORKERS, 1, num_used=lambda: 1)


def test_one_who_gives_zeros_is_wrong_but_proves_what_others_give():
    """As a rank 0 that computes nothing; it counts as one that gives nothing."""
    faults = Collectives(lambda rank: [given("Allreduce", is_zeros=rank == 1)] * NUM_STEPS).faults()
    faults.assert_some_matter(WORKERS, len(WORKERS) - 1, num_used=lambda: 1)
    with raises("evidence.zeros_given", kind=NotProven, rank=1):
        faults.assert_some_matter(WORKERS, len(WORKERS), num_used=lambda: 1)


def test_a_script_that_never_trains_twice_alike_is_judged_by_its_checks():
    """Which hold without an alteration, and do not with one."""
    numbers = iter(range(1, 100))

    class Unsteady(Script):
        def outcome(self, case):
            found = super().outcome(case)
            rows = {"rows": np.array([next(numbers)]), "right": case.message_fault is None}
            return replace(found, results=tuple({**each, **rows} for each in found.results))

    def check(case, outcome):
        if not outcome["right"][0]:
            raise WrongAnswer("another model")

    script = Unsteady({1: GRADIENTS, 2: GRADIENTS})
    faults = faults_in(script.run, CASE, script.outcome(CASE), [check])
    faults.assert_each_matters(WORKERS, NUM_STEPS)


@pytest.mark.parametrize(("shown_by", "holds"), [(1, True), (2, True), (3, False)])
def test_contents_are_looked_for_in_one_more_run(shown_by, holds):
    """Samples are drawn anew for each run, and a few may miss what is new in a model."""
    faults = Script({1: GRADIENTS, 2: GRADIENTS}).faults()
    faults.assert_some_matter(WORKERS, 1, num_used=lambda: 0)
    seen = []

    def check(_, outcome):
        seen.append(outcome)
        if len(seen) < shown_by:
            raise NotProven(found("evidence.models_not_given", "", rank=1))

    with contextlib.nullcontext() if holds else pytest.raises(NotProven):
        faults.assert_contents(check)
    assert seen[0] is faults.outcome and len(seen) == min(shown_by, 2)
    assert all(outcome.num_altered == 0 for outcome in seen)


def test_contents_of_a_run_without_another_are_not_proven():
    faults = Script({1: GRADIENTS, 2: GRADIENTS}).faults()

    def check(*_):
        raise NotProven(found("evidence.models_not_given", "", rank=1))

    with pytest.raises(NotProven):
        faults.assert_contents(check)


@pytest.mark.parametrize("name", ["rows", "model", "seen", "gradient", "aggregate"])
def test_runs_are_compared_by_batches_models_and_gradients(name):
    script = Script({})
    before = script.outcome(CASE)
    assert_same_run(before, script.outcome(CASE))
    changed = {**before.results[0], name: np.asarray(before.results[0][name]) + 1}
    if name in ("gradient", "aggregate"):
        changed[name] = np.ones(lenet.NUM_PARAMETERS)
    with raises("training.not_repeated", rank=0):
        assert_same_run(before, replace(before, results=(changed,) * RANKS))

"""The checks of psgd accept what the sheet asks for and name what it does not."""

from dataclasses import replace

import numpy as np
import pytest
from psgd_hogwild import softmax_regression
from psgd_hogwild.data_parts import assert_batch_sizes
from psgd_hogwild.psgd_cases import GROUPS, Psgd, cases_of
from psgd_hogwild.psgd_checks import (
    assert_come_together,
    assert_in_each_communicator,
    assert_mean,
    assert_parts_complete,
    assert_parts_disjoint,
    assert_plain_sgd_bit_for_bit,
    assert_sgd,
    assert_silent_meanwhile,
    assert_train_at_once,
)
from psgd_hogwild.training_cases import assert_given_model, given_start

from grader.api import NotProven, RuleViolation, WrongAnswer

from .made_outcomes import (
    STEP_NS,
    batches_of,
    call,
    facts_of,
    gradients_met,
    inputs_of,
    key_of,
    learned,
    outcome_of,
    told,
)

CASE = Psgd(num_examples=22, epochs=2, batch_size=4, lr=0.25)
RANKS = 3
VALUES = (assert_parts_disjoint, assert_parts_complete, assert_come_together, assert_mean)


def run_of(case=CASE, *, end=None, parts=None, calls=(), starts_used=None, ranks=RANKS):
    """Return the outcome of a run; end(starts, learned, rank) says what a rank ends with.

    starts_used: the rank whose start each rank trains from, instead of rank 0's.
    """
    inputs = inputs_of(case, ranks)
    parts = parts or [range(rank, case.num_examples, ranks) for rank in range(ranks)]
    batches = [batches_of(case, part) for part in parts]
    blank = outcome_of(case, inputs, [{}] * ranks)
    starts = [given_start(blank, rank) for rank in range(ranks)]
    used = [starts[(starts_used or [0] * ranks)[rank]] for rank in range(ranks)]
    all_learned = [learned(case, inputs[0], used[r], batches[r]) for r in range(ranks)]
    end = end or (lambda starts, learned, rank: np.mean(learned, axis=0))
    results = [
        told(
            inputs[rank],
            end(starts, all_learned, rank),
            batches[rank],
            gradients=gradients_met(case, inputs[0], used[rank], batches[rank]),
        )
        for rank in range(ranks)
    ]
    return outcome_of(case, inputs, results, calls)


@pytest.mark.parametrize("check", [assert_sgd, *VALUES])
def test_the_mean_of_what_the_ranks_learned_passes(check):
    """Also from different start weights, where rank 0's count."""
    check(CASE, run_of())
    case = replace(CASE, starts_differ=True)
    check(case, run_of(case))


def test_a_gradient_shows_in_which_rank_it_was_computed():
    """Those of another rank, or of a model without a scale of its own, are others."""
    with pytest.raises(WrongAnswer) as error:
        assert_sgd(CASE, run_of(replace(CASE, scales_differ=True)))
    assert facts_of(error, "psgd.gradient_differs") == {"rank": 0, "batch": 0}


@pytest.mark.parametrize(
    ("end", "mistake", "rank", "is_together"),
    [
        (lambda starts, learned, rank: starts[rank], "psgd.start_weights", 0, False),
        (lambda starts, learned, rank: np.sum(learned, axis=0), "psgd.sum_not_mean", 0, True),
        (lambda starts, learned, rank: learned[rank], "psgd.keeps_own_weights", 0, False),
        (
            lambda starts, learned, rank: np.average(learned, axis=0, weights=[16, 14, 14]),
            "psgd.mean_weighted",
            0,
            True,
        ),
        (
            lambda starts, learned, rank: np.mean(learned, axis=0) if rank == 0 else learned[rank],
            "psgd.keeps_own_weights",
            1,
            True,
        ),
    ],
)
def test_a_known_mistake_is_named(end, mistake, rank, is_together):
    """The weights tell what was done with them; the steps before were right."""
    found = run_of(end=end)
    with pytest.raises(WrongAnswer, match=rf"Rank {rank} ended with .*weight\[0, 0\] is") as error:
        assert_mean(CASE, found)
    assert [each.key for each in error.value.findings] == [mistake, "value.differs"]
    assert facts_of(error, mistake) == {"rank": rank}
    assert error.value.differences
    assert_sgd(CASE, found)
    if is_together:
        assert_come_together(CASE, found)
        return
    with pytest.raises(WrongAnswer) as error:
        assert_come_together(CASE, found)
    assert [each.key for each in error.value.findings] == [mistake, "psgd.never_together"]


def test_a_mean_from_different_starts_is_named():
    """Each rank trained from its own weights, nobody sent those of rank 0."""
    case = replace(CASE, starts_differ=True)
    for check in (assert_mean, assert_come_together):
        with pytest.raises(WrongAnswer) as error:
            check(case, run_of(case, starts_used=[0, 1, 2]))
        assert key_of(error) == "psgd.starts_differ"


def changed_steps(gradients_of):
    """Return a run whose ranks took steps along other gradients: gradients_of(given, batches)."""
    found = run_of(parts=[range(8), range(8, 15), range(15, 22)])
    start = given_start(found, 0)
    batches = [batches_of(CASE, part) for part in (range(8), range(8, 15), range(15, 22))]
    all_gradients = gradients_of(found.inputs[0], start, batches)
    for result, gradients in zip(found.results, all_gradients, strict=True):
        result["gradients"] = np.array(gradients, dtype=np.float32)
    return found


def piled_up(given, start, batches):
    """Return the gradients that ranks meet which never set them to zero."""
    found = []
    for own in batches:
        weights, total, rows = start, 0.0, []
        for batch in own:
            pairs = given["inputs"][batch].astype(float), given["labels"][batch]
            rows.append(softmax_regression.gradient(weights, *pairs))
            total = total + rows[-1]
            weights = weights - CASE.lr * total
        found.append(rows)
    return found


def averaged_each_epoch(given, start, batches):
    """Return the gradients that ranks meet which average after every epoch."""
    found = [[] for _ in batches]
    for epoch in range(CASE.epochs):
        ends = []
        for rank, own in enumerate(batches):
            half = len(own) // CASE.epochs
            rows = own[epoch * half : (epoch + 1) * half]
            found[rank] += list(gradients_met(CASE, given, start, rows))
            ends.append(learned(CASE, given, start, rows))
        start = np.mean(ends, axis=0)
    return found


def of_double_softmax(given, start, batches):
    """Return the gradients of a loss that takes a softmax of the probabilities."""
    found = []
    for own in batches:
        weights, rows = start, []
        for batch in own:
            pairs = given["inputs"][batch].astype(float), given["labels"][batch]
            rows.append(softmax_regression.gradient_of_double_softmax(weights, *pairs))
            weights = weights - CASE.lr * rows[-1]
        found.append(rows)
    return found


@pytest.mark.parametrize(
    ("gradients_of", "mistake", "batch"),
    [
        (piled_up, "psgd.gradients_pile_up", 2),
        (averaged_each_epoch, "psgd.averaged_every_epoch", 2),
        (of_double_softmax, "loss.softmax_twice", 0),
    ],
)
def test_steps_that_are_not_sgds_are_told_by_their_cause(gradients_of, mistake, batch):
    """Whatever their mean is: that is another question."""
    with pytest.raises(WrongAnswer) as error:
        assert_sgd(CASE, changed_steps(gradients_of))
    assert key_of(error) == mistake
    assert facts_of(error, "psgd.gradient_differs") == {"rank": 0, "batch": batch}


@pytest.mark.parametrize(("place", "name"), [(7, "weight[1, 2]"), (-1, "bias[2]")])
def test_the_number_of_a_gradient_that_differs_is_named(place, name):
    """The rest of the gradient is that of plain SGD."""
    found = changed_steps(of_double_softmax)
    right = run_of(parts=[range(8), range(8, 15), range(15, 22)])
    for result, own in zip(found.results, right.results, strict=True):
        result["gradients"] = own["gradients"].copy()
    gradient = found["gradients"][0][0]
    expected, gradient[place] = gradient[place], 5
    with pytest.raises(WrongAnswer) as error:
        assert_sgd(CASE, found)
    (said,) = (each.text for each in error.value.findings if each.key == "psgd.gradient_differs")
    assert f"is 5 for {name}; plain SGD computes {expected:.6g}." in said


def test_the_mean_of_steps_that_pile_up_is_their_mean():
    """The steps cost their own test, and the averaging was right."""
    found = changed_steps(piled_up)
    start = given_start(found, 0)
    ends = [
        start - CASE.lr * result["gradients"].astype(float).cumsum(axis=0).sum(axis=0)
        for result in found.results
    ]
    weights, biases = softmax_regression.unpacked(np.mean(ends, axis=0), 5)
    for result in found.results:
        result.update(weights=weights.astype(np.float32), biases=biases.astype(np.float32))
    assert_mean(CASE, found)
    assert_come_together(CASE, found)


@pytest.mark.parametrize("check", [assert_sgd, assert_come_together, assert_mean])
def test_training_on_nothing_is_told(check):
    """A model that is never trained has no batches."""
    if check is assert_sgd:
        with pytest.raises(WrongAnswer) as error:
            check(CASE, run_of(parts=[[], [], []]))
        assert key_of(error) == "psgd.model_not_trained"
    with pytest.raises(WrongAnswer) as error:
        assert_parts_disjoint(CASE, run_of(parts=[range(22), [], []]))
    assert facts_of(error, "data.empty_part") == {"who": "rank 1"}


def test_ranks_that_learned_the_same_or_nothing_had_nothing_to_bring_together():
    """What each has alone is the mean already."""
    for parts, key, facts in (
        ([range(22)] * 3, "psgd.ranks_learn_the_same", {"rank": 0}),
        ([range(11), range(11, 22), []], "psgd.rank_without_gradient", {"rank": 2}),
        ([[], [], []], "psgd.model_not_trained", {}),
    ):
        with pytest.raises(WrongAnswer) as error:
            assert_come_together(CASE, run_of(parts=parts))
        assert facts_of(error, key) == facts


@pytest.mark.parametrize("check", [assert_parts_disjoint, assert_parts_complete])
def test_any_disjoint_cover_passes(check):
    """Blocks are as good as strides, and unequal ones too."""
    check(CASE, run_of())
    check(CASE, run_of(parts=[range(10), range(10, 21), range(21, 22)]))


@pytest.mark.parametrize(
    ("parts", "check", "key", "facts"),
    [
        (
            [range(22)] * 3,
            assert_parts_disjoint,
            "data.parts_overlap",
            {"owners": ("rank 0", "rank 1"), "example": 0, "number": 22},
        ),
        (
            [range(7), range(7, 14), range(14, 21)],
            assert_parts_complete,
            "data.remainder_left_out",
            {"num_examples": 22, "num_parts": 3},
        ),
        (
            [range(6), range(7, 14), range(14, 21)],
            assert_parts_complete,
            "data.examples_left_out",
            {"number": 2, "num_examples": 22, "example": 6},
        ),
        (
            [[0, 0, 1], range(2, 12), range(12, 22)],
            assert_parts_complete,
            "data.not_once_an_epoch",
            {"who": "rank 0", "example": 0, "times": 4},
        ),
    ],
)
def test_what_is_no_partition_is_told_once(parts, check, key, facts):
    """Shared, left out, repeated; what is left out or repeated overlaps with nothing."""
    found = run_of(parts=parts)
    with pytest.raises(WrongAnswer) as error:
        check(CASE, found)
    assert key_of(error) == key
    assert facts_of(error, key) == facts
    if key == "data.remainder_left_out":
        left_out = {"number": 1, "num_examples": 22, "example": 21}
        assert facts_of(error, "data.examples_left_out") == left_out
    if check is assert_parts_complete:
        assert_parts_disjoint(CASE, found)


def test_batches_of_another_size_are_told():
    """Twice the batch size makes half the steps."""
    outcome = run_of(replace(CASE, batch_size=8))
    with pytest.raises(WrongAnswer, match=r"Batch 0 of rank 0 has size 8; expected 4") as error:
        assert_parts_complete(CASE, outcome)
    told = {"who": "rank 0", "batch": 0, "size": 8, "expected": 4}
    assert facts_of(error, "data.batch_sizes") == told


@pytest.mark.parametrize(
    ("sizes", "words", "facts"),
    [
        ([4, 4], "Rank 0 trained on 2 batches; expected 4", {"num_batches": 2}),
        ([4, 4, 4, 4, 0], "Rank 0 trained on 5 batches; expected 4", {"num_batches": 5}),
        ([4, 4, 3, 5], "Batch 2 of rank 0 has size 3; expected 4", {"batch": 2, "size": 3}),
    ],
)
def test_batches_too_few_or_too_many_are_told(sizes, words, facts):
    """By their number where all sizes are those expected as far as they go."""
    case, batches = replace(CASE, epochs=1), [np.arange(size) for size in sizes]
    with pytest.raises(WrongAnswer, match=words) as error:
        assert_batch_sizes(case, "rank 0", batches, part_size=16)
    assert facts_of(error, "data.batch_sizes") == {"who": "rank 0", "expected": 4, **facts}
    assert_batch_sizes(case, "rank 0", [np.arange(4)] * 4, part_size=16)


@pytest.mark.parametrize(
    ("off", "key"), [(0.0, ""), (1e-7, "psgd.weights_rounded"), (1e-2, "value.differs")]
)
def test_one_rank_is_compared_bit_for_bit(off, key):
    """A difference far below any tolerance is a difference."""
    (given,) = inputs_of(CASE)
    gradients = np.random.default_rng(1).normal(size=(12, 18)).astype(np.float32)
    blank = outcome_of(CASE, [given], [{}])
    end = given_start(blank, 0).astype(np.float32)
    for gradient in gradients:
        end = end - np.float32(CASE.lr) * gradient
    end[0] += np.float32(off)
    batches = batches_of(CASE, range(22))
    outcome = outcome_of(CASE, [given], [told(given, end, batches, gradients=gradients)])
    if off:
        with pytest.raises(WrongAnswer, match=r"weight\[0, 0\] is") as error:
            assert_plain_sgd_bit_for_bit(CASE, outcome)
        assert key_of(error) == key
        assert error.value.differences
    else:
        assert_plain_sgd_bit_for_bit(CASE, outcome)


def test_messages_before_and_after_all_steps_pass():
    """The start is sent round before, the average is taken afterwards; batch 0 begins at 0."""
    calls = [[call("Bcast", -5), call("Allreduce", 8 * STEP_NS)]] * RANKS
    assert_silent_meanwhile(CASE, run_of(calls=calls))


@pytest.mark.parametrize(
    ("before_ns", "after_ns", "shift"),
    [
        (-5, -3, 1),
        (-5, 8 * STEP_NS, 0),
        (-5, 8 * STEP_NS, 0.25),
        (5 * STEP_NS, 8 * STEP_NS, 1),
    ],
)
def test_times_that_disagree_with_the_calls_prove_nothing(before_ns, after_ns, shift):
    """Batches after the last call, at one moment, too fast, or before rank 0's weights came."""
    case = replace(CASE, starts_differ=True)
    run = run_of(case, calls=[[call("Bcast", before_ns), call("Allreduce", after_ns)]] * RANKS)
    for result in run.results:
        result["ended_ns"] = result["ended_ns"] * shift
    with pytest.raises(NotProven, match="contradict each other or the times"):
        assert_silent_meanwhile(case, run)


@pytest.mark.parametrize("told_by", ["message", "synchronous send", "barrier"])
def test_ranks_that_train_one_after_another_are_told(told_by):
    """Rank 1 hears of rank 0's end before it begins; a late rank that hears nothing may train."""
    end = 4 * STEP_NS
    told_ns = end - STEP_NS // 4
    calls = [[call("Bcast", 1)] for _ in range(RANKS)]
    run = run_of(calls=calls)
    run.results[1]["ended_ns"] = run.results[1]["ended_ns"] + end
    assert_train_at_once(CASE, run)
    if told_by == "message":
        calls[0].append(replace(call("Send", told_ns), peer=1))
        calls[1].append(replace(call("Recv", told_ns), peer=0, matched_source=0))
    elif told_by == "synchronous send":
        calls[0].append(replace(call("Recv", told_ns), peer=1, matched_source=1))
        sent = replace(call("Send", 2), peer=0, completed_ns=told_ns)
        calls[1].append(replace(sent, function="Ssend", synchronous=True))
    else:
        for rank in range(2):
            calls[rank].append(call("Barrier", told_ns))
    told_so = run_of(calls=calls)
    told_so.results[1]["ended_ns"] = run.results[1]["ended_ns"]
    with pytest.raises(RuleViolation, match="Ranks 0 and 1 took turns") as error:
        assert_train_at_once(CASE, told_so)
    assert facts_of(error, "rule.one_after_another") == {"ranks": (0, 1)}


def test_a_message_between_the_steps_is_told():
    """With the call, its line, and after how many batches."""
    calls = [[], [call("Allreduce", 2 * STEP_NS, line=30)], []]
    words = r"Rank 1 called Allreduce at psgd\.py:30 after 2 of its 4 batches"
    with pytest.raises(RuleViolation, match=words) as error:
        assert_silent_meanwhile(CASE, run_of(calls=calls))
    told = {"rank": 1, "call": "Allreduce", "place": "psgd.py:30"}
    assert facts_of(error, "psgd.exchange_between_steps") == told


@pytest.mark.parametrize(
    ("returned", "key"),
    [
        ("nothing", "training.returned_nothing"),
        ("another model", "training.returned_another_model"),
    ],
)
def test_another_model_than_the_given_one_is_told(returned, key):
    """Whether nothing or a copy is returned."""
    found = run_of()
    assert_given_model(CASE, found, "psgd")
    found.results[1]["returned"] = returned
    with pytest.raises(WrongAnswer, match="On rank 1, psgd returned") as error:
        assert_given_model(CASE, found, "psgd")
    assert facts_of(error, key) == {"function": "psgd", "rank": 1}


def grouped(parts_of_world):
    """Return a case with two communicators; parts and means are theirs, or those of the world."""
    case = replace(CASE, groups=GROUPS)
    parts = [range(rank, 22, 5) for rank in range(5)]
    if not parts_of_world:
        sizes = {rank: (group.index(rank), len(group)) for group in GROUPS for rank in group}
        parts = [range(sizes[rank][0], 22, sizes[rank][1]) for rank in range(5)]

    def end(starts, learned, rank):
        group = next(group for group in GROUPS if rank in group)
        return np.mean([learned[r] for r in (range(5) if parts_of_world else group)], axis=0)

    return case, run_of(case, parts=parts, end=end, ranks=5)


GROUPED = "communicators of ranks 4, 2, 0 and of ranks 3, 1"
RANKS_OF = "only ranks 0, 2, and 4"


def test_each_communicator_is_looked_at_by_itself():
    """COMM_WORLD in the place of comm is told; not where the result is wrong anyway."""
    assert_in_each_communicator(True, *grouped(parts_of_world=False))
    with pytest.raises(WrongAnswer, match=rf"3 ranks, .*{GROUPED}.*contains {RANKS_OF}") as error:
        assert_in_each_communicator(True, *grouped(parts_of_world=True))
    assert facts_of(error, "psgd.other_communicator") == {"ranks": GROUPS[0]}
    assert key_of(error) == "psgd.other_communicator"
    assert len(error.value.findings) > 1
    with pytest.raises(WrongAnswer) as error:
        assert_in_each_communicator(False, *grouped(parts_of_world=True))
    assert key_of(error) == "data.examples_left_out"


def test_labels_tell_the_cases_of_a_launch_apart():
    """A launch refuses two cases of one label."""
    labels = [case.label for case in cases_of(5)]
    assert len(set(labels)) == len(labels) == 6

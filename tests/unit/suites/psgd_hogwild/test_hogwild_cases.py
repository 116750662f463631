"""The checks of hogwild accept every schedule of a right run, and no wrong one."""

from dataclasses import replace

import numpy as np
import pytest
from psgd_hogwild.hogwild_cases import (
    Hogwild,
    assert_all_steps_count,
    assert_loss_falls,
    assert_nobody_waits,
    assert_parts,
    assert_processes,
    assert_serial,
    assert_shared,
    cases,
)
from psgd_hogwild.softmax_regression import gradient
from psgd_hogwild.training_cases import NUM_PARAMETERS, given_start

from grader.judge.findings import NotProven, RuleViolation, WrongAnswer

from .made_outcomes import batches_of, inputs_of, outcome_of, told

CASE = Hogwild(num_processes=2, num_examples=16, epochs=2, batch_size=4, lr=2.0**-8)


def run_of(case=CASE, *, move=None, parts=None, owners=None, change=None):
    """Return the outcome of a run whose processes take turns; move(steps, owners) is its result."""
    (given,) = inputs_of(case)
    parts = parts or [range(n, case.num_examples, case.num_processes) for n in range(2)]
    by_process = [batches_of(case, part) for part in parts[: case.num_processes]]
    turns = [(n, batch) for turn in zip(*by_process, strict=True) for n, batch in enumerate(turn)]
    who = np.array([n for n, _ in turns]) if owners is None else owners
    start = weights = given_start(outcome_of(case, [given], [{}]), 0)
    gradients = []
    for _, rows in turns:
        gradients.append(
            gradient(weights, given["inputs"][rows].astype(float), given["labels"][rows])
        )
        weights = weights - case.lr * gradients[-1]
    steps = -case.lr * np.array(gradients)
    end = weights if move is None else start + move(steps, who)
    result = {
        **told(given, end, [batch for _, batch in turns], who, np.array(gradients)),
        "writers": np.repeat(who, 2),
        "written": np.tile([0, 1], len(who)),
        "written_is_shared": np.ones(2 * len(who), np.int64),
        "meeting": np.array([2, 0, 2]),
        "held": "",
        "waited": "",
        **(change or {}),
    }
    return outcome_of(case, [given], [result])


ALL = [
    *(assert_processes, assert_parts, assert_shared, assert_all_steps_count, assert_loss_falls),
    lambda case, outcome: assert_nobody_waits(case, outcome, {}),
]


@pytest.mark.parametrize("check", ALL)
def test_a_right_run_passes_every_check(check):
    """Two processes that take turns are one of the schedules that may happen."""
    check(CASE, run_of())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"processes": np.zeros(1, np.int64)}, "8 gradients, 1 processes, 8 threads"),
        ({"gradients": np.zeros((9, NUM_PARAMETERS), np.float32)}, "9 gradients, 8 processes"),
        ({"rows_per_batch": np.full(7, 4)}, "7 rows_per_batch, .*lengths that add up to 28"),
        ({"rows_per_batch": np.array([2**62] * 4 + [8] * 4)}, "add up to 32; .* 32 examples"),
        ({"written": np.zeros(3, np.int64)}, "16 writers, 3 written, 16 written_is_shared"),
        ({"written_is_shared": np.zeros(0, np.int64)}, "0 written_is_shared; expected one of each"),
    ],
)
@pytest.mark.parametrize(
    "check", [assert_processes, assert_parts, assert_shared, assert_all_steps_count]
)
def test_answers_that_do_not_fit_each_other_are_told(check, change, words):
    """A rank can send arrays of any length."""
    with pytest.raises(WrongAnswer, match=words):
        check(CASE, run_of(change=change))


@pytest.mark.parametrize("check", ALL)
def test_a_run_whose_processes_were_all_seen_passes_every_check(check):
    """More may have shown up than trained: a pool has workers without work."""
    check(CASE, replace(run_of(), num_processes=3, num_processes_at_once=2))


@pytest.mark.parametrize("check", [assert_processes, assert_parts, assert_shared])
def test_processes_that_nobody_saw_prove_nothing(check):
    """What the processes write of themselves may be written by one alone."""
    words = "2 processes are said to have computed gradients, but only 1 process showed up"
    with pytest.raises(NotProven, match=words):
        check(CASE, replace(run_of(), num_processes=1, num_processes_at_once=1))


def test_processes_that_were_never_there_together_did_not_meet():
    """One after the other may have come."""
    with pytest.raises(NotProven, match="2 processes are said to have met in the middle of a step"):
        assert_nobody_waits(CASE, replace(run_of(), num_processes=2, num_processes_at_once=1), {})


@pytest.mark.parametrize("check", [assert_all_steps_count, assert_loss_falls])
def test_some_lost_writes_are_forgiven(check):
    """One of eight steps lost on all weights is more than ever happens."""
    check(CASE, run_of(move=lambda steps, who: steps[1:].sum(axis=0)))


@pytest.mark.parametrize(
    ("move", "words"),
    [
        (lambda steps, who: np.zeros(NUM_PARAMETERS), "100% away .*they are the start weights"),
        (lambda steps, who: steps.sum(axis=0) / 2, "50% away .*averaged in them, not added"),
        (lambda steps, who: steps[who == 1].sum(axis=0), "only the steps of process 1 are"),
        (lambda steps, who: 3 * steps.sum(axis=0), "200% away"),
    ],
)
def test_steps_that_do_not_add_up_are_told(move, words):
    """None, half, one process's, too many."""
    with pytest.raises(WrongAnswer, match=words):
        assert_all_steps_count(CASE, run_of(move=move))


def test_a_loss_that_hardly_falls_is_told():
    """Half the way is less than three quarters."""
    with pytest.raises(WrongAnswer, match="75% of that fall are asked for"):
        assert_loss_falls(CASE, run_of(move=lambda steps, who: steps.sum(axis=0) / 2))


def test_one_process_is_compared_with_sgd():
    """The exact result passes, another one does not."""
    case = replace(CASE, num_processes=1)
    assert_serial(case, run_of(case, parts=[range(16)]))
    with pytest.raises(WrongAnswer, match=r"weight\[0, 0\]"):
        assert_serial(
            case, run_of(case, parts=[range(16)], move=lambda steps, who: steps.sum() * 0)
        )


def test_too_few_processes_are_told_with_their_threads():
    """Threads are not processes."""
    change = {"threads": np.array([0, 1] * 4)}
    with pytest.raises(WrongAnswer, match="1 process computed gradients, in 2 threads; expected"):
        assert_processes(CASE, run_of(owners=np.zeros(8, np.int64), change=change))


def test_training_on_the_same_data_is_told():
    """The parts are to be disjoint."""
    with pytest.raises(WrongAnswer, match="trained on by process 0 and by process 1"):
        assert_parts(CASE, run_of(parts=[range(16)] * 2))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"written": np.full(16, -1), "written_is_shared": np.zeros(16, np.int64)},
            "process 0 of 2 computes 4 gradients and steps weights in memory of its own",
        ),
        (
            {"writers": np.array([0] * 16), "written": np.tile([0, 1], 8)},
            "process 1 of 2 computes 4 gradients and writes nothing",
        ),
        (
            {"written": np.array([0, 1] * 6 + [0, 1, -1, -1])},
            "process 1 of 2 computes 4 gradients and writes 3 steps into",
        ),
    ],
)
def test_steps_outside_the_shared_memory_are_told(change, words):
    """In private memory, nowhere, or not all of them."""
    with pytest.raises(RuleViolation, match=words):
        assert_shared(CASE, run_of(change=change))


@pytest.mark.parametrize(
    ("meeting", "source", "words"),
    [
        ([1, 1, 2], "", "they seem to wait for it; in Hogwild"),
        ([2, 1, 2], "lock = mp.Lock()", r"wait for it \(hogwild.py:1 names Lock\)"),
        ([1, 1, 1], "", r"\(1 process had been started by then\)"),
    ],
)
def test_waiting_for_each_other_is_told(meeting, source, words):
    """With the lock that the files name, or that too few were started."""
    outcome = run_of(change={"meeting": np.array(meeting)})
    with pytest.raises(RuleViolation, match=words):
        assert_nobody_waits(CASE, outcome, {"hogwild.py": source})


@pytest.mark.parametrize(
    ("change", "source", "words"),
    [
        (
            {"held": "hogwild.py:9"},
            "lock = mp.Lock()",
            r"hogwild.py:9 \(hogwild.py:1 names Lock\);",
        ),
        (
            {"waited": "hogwild.py:9"},
            "",
            "between two of its batches, before it runs hogwild.py:9;",
        ),
    ],
)
def test_locks_beside_the_step_are_told(change, source, words):
    """The meeting does not see them: all processes can be in the middle of a step."""
    with pytest.raises(RuleViolation, match=words):
        assert_nobody_waits(CASE, run_of(change=change), {"hogwild.py": source})


def test_without_any_step_seen_nothing_is_proven():
    """Writes that torch does not make are not seen."""
    with pytest.raises(NotProven):
        assert_nobody_waits(CASE, run_of(change={"meeting": np.array([0, 0, 2])}), {})


def test_labels_tell_the_cases_of_a_launch_apart():
    """A launch refuses two cases of one label."""
    labels = [case.label for case in cases()]
    assert len(set(labels)) == len(labels)

"""The checks of hogwild accept every schedule of a right run, and no wrong one."""

from dataclasses import replace

import numpy as np
import pytest
from psgd_hogwild.hogwild_cases import FOR_EACH_STAY, Hogwild, cases
from psgd_hogwild.hogwild_checks import (
    assert_all_steps_count,
    assert_loss_falls,
    assert_own_gradients,
    assert_parts_complete,
    assert_parts_disjoint,
    assert_processes,
    assert_serial,
    assert_shared,
    assert_workers,
)
from psgd_hogwild.softmax_regression import gradient
from psgd_hogwild.training_cases import NUM_PARAMETERS, given_start
from psgd_hogwild.waiting_checks import (
    assert_failure_noticed,
    assert_no_lock_and_no_turns,
    assert_nobody_waits_in_a_step,
    assert_same_time,
)

from grader.api import NotProven, RuleViolation, WrongAnswer

from .made_outcomes import batches_of, inputs_of, outcome_of, told

CASE = Hogwild(num_processes=2, num_examples=16, epochs=2, batch_size=4, lr=2.0**-8)


def stays(*told):
    """Return what a probe says of stays in a step: who, from when to when, who had stopped."""
    columns = np.array(told, dtype=np.int64).reshape(-1, 4).T
    return dict(zip(FOR_EACH_STAY, columns, strict=True))


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
        **stays(),
        "held": "",
        "waited": "",
        "shared": "",
        "num_failed": np.array([0]),
        "raised": "",
        **(change or {}),
    }
    return outcome_of(case, [given], [result])


PARTS = (assert_parts_disjoint, assert_parts_complete)
MEETING = (assert_same_time, assert_nobody_waits_in_a_step("[]"), assert_no_lock_and_no_turns("[]"))
ALL = [
    *(assert_workers, assert_processes, *PARTS, assert_shared, assert_own_gradients),
    *(assert_all_steps_count, assert_loss_falls, *MEETING),
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
    "check", [assert_workers, assert_processes, *PARTS, assert_shared, assert_all_steps_count]
)
def test_answers_that_do_not_fit_each_other_are_told(check, change, words):
    """A rank can send arrays of any length."""
    with pytest.raises(WrongAnswer, match=words):
        check(CASE, run_of(change=change))


@pytest.mark.parametrize("check", ALL)
def test_a_run_whose_processes_were_all_seen_passes_every_check(check):
    """More may have shown up than trained: a pool has workers without work."""
    check(CASE, replace(run_of(), num_processes=3, num_processes_at_once=2))


@pytest.mark.parametrize("check", [assert_processes, assert_shared])
def test_processes_that_nobody_saw_prove_nothing(check):
    """What the processes write of themselves may be written by one alone."""
    words = "2 processes are said to have computed gradients, but only 1 process showed up"
    with pytest.raises(NotProven, match=words):
        check(CASE, replace(run_of(), num_processes=1, num_processes_at_once=1))


def test_processes_that_were_never_there_together_did_not_meet():
    """One after the other may have come."""
    with pytest.raises(NotProven, match="2 processes are said to have met in the middle of a step"):
        MEETING[1](CASE, replace(run_of(), num_processes=2, num_processes_at_once=1))


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
    found = run_of(owners=np.zeros(8, np.int64), change=change)
    with pytest.raises(WrongAnswer, match="1 process computed gradients, in 2 threads; expected"):
        assert_processes(CASE, found)
    for check in (assert_workers, *PARTS):
        check(CASE, found)


def test_one_worker_is_not_several():
    """A loop over the parts."""
    with pytest.raises(WrongAnswer, match="1 process computed gradients; expected num_processes"):
        assert_workers(CASE, run_of(owners=np.zeros(8, np.int64)))


def test_training_on_the_same_data_is_told():
    """The parts are to be disjoint."""
    with pytest.raises(WrongAnswer, match="trained on by process 0 and by process 1"):
        assert_parts_disjoint(CASE, run_of(parts=[range(16)] * 2))
    assert_parts_complete(CASE, run_of(parts=[range(16)] * 2))


def test_a_gradient_in_shared_memory_is_told_with_the_line_of_the_step():
    """Whether its steps add up or not."""
    found = run_of(change={"shared": "weight.grad, at hogwild.py:9"})
    with pytest.raises(WrongAnswer, match=r"shared memory \(weight\.grad, at hogwild\.py:9\)"):
        assert_own_gradients(CASE, found)


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


LOCK = '[["hogwild.py", 1, "Lock"]]'


@pytest.mark.parametrize(
    ("meeting", "names", "words"),
    [
        ([1, 1, 2], "[]", "they seem to wait for it; in Hogwild"),
        ([2, 1, 2], LOCK, r"wait for it \(hogwild.py:1 names Lock\)"),
    ],
)
def test_waiting_for_each_other_is_told(meeting, names, words):
    """With the lock that the files name; all were started."""
    outcome = run_of(change={"meeting": np.array(meeting)})
    with pytest.raises(RuleViolation, match=words):
        assert_nobody_waits_in_a_step(names)(CASE, outcome)
    assert_same_time(CASE, outcome)


def test_processes_that_start_when_others_have_ended_are_told():
    """The first one waits for the others in vain."""
    outcome = run_of(change={"meeting": np.array([1, 1, 1])})
    with pytest.raises(RuleViolation, match="only 1 process had been started by then"):
        assert_same_time(CASE, outcome)


# Process 1 ends its batches, two an epoch, at 1500, 3500, 5500 and 7500 ns.
STOPPED = ((0, 2000, 3000, 1), (0, 6000, 7000, 1))


def test_a_process_that_stops_twice_while_another_is_held_up_is_told():
    outcome = run_of(change=stays(*STOPPED))
    with pytest.raises(RuleViolation, match=r"more than once.*wait \(hogwild.py:1 names Lock\)"):
        assert_nobody_waits_in_a_step(LOCK)(CASE, outcome)


@pytest.mark.parametrize(
    "told",
    [
        STOPPED[:1],
        pytest.param((STOPPED[0], (0, 4000, 5000, 1)), id="between two epochs"),
        pytest.param((STOPPED[0], (0, 3000, 4000, 1)), id="to the end of an epoch"),
        pytest.param((STOPPED[0], (0, 0, 1000, 1)), id="before it has begun"),
        pytest.param((STOPPED[0], (0, 8000, 9000, 1)), id="when it has ended"),
        pytest.param((*STOPPED, (1, 6500, 9000, -1)), id="kept in a step itself"),
        pytest.param((*STOPPED[:1], (1, 6000, 7000, -1)), id="another that has not stopped"),
        pytest.param((STOPPED[0], (2, 2500, 3200, 1)), id="once, seen by two"),
        pytest.param((STOPPED[0], (1, 5000, 6000, 0)), id="two, once each"),
    ],
)
def test_where_a_process_may_stop_it_is_not_told(told):
    MEETING[1](CASE, run_of(change=stays(*told)))


def test_epochs_that_are_not_known_are_no_evidence():
    """Of who takes other numbers of batches in each."""
    MEETING[1](replace(CASE, epochs=3), run_of(change=stays(*STOPPED)))


def test_stays_that_do_not_fit_together_are_told():
    change = {**stays(*STOPPED), "stopped": np.array([1])}
    with pytest.raises(WrongAnswer, match="kept in a step does not fit together: 2 stayed"):
        MEETING[1](CASE, run_of(change=change))


@pytest.mark.parametrize(
    ("change", "names", "words"),
    [
        ({"held": "hogwild.py:9"}, LOCK, r"hogwild.py:9 \(hogwild.py:1 names Lock\);"),
        ({"waited": "hogwild.py:9"}, "[]", "of its batches, before it runs hogwild.py:9;"),
    ],
)
def test_locks_beside_the_step_are_told(change, names, words):
    """The meeting does not see them: all processes can be in the middle of a step."""
    outcome = run_of(change=change)
    with pytest.raises(RuleViolation, match=words):
        assert_no_lock_and_no_turns(names)(CASE, outcome)
    MEETING[1](CASE, outcome)


@pytest.mark.parametrize(
    ("num_failed", "raised", "error"),
    [(1, "RuntimeError: exit code 1", None), (1, "", WrongAnswer), (0, "", NotProven)],
)
def test_a_failure_is_to_be_noticed(num_failed, raised, error):
    """By an exception of whatever kind."""
    found = run_of(change={"num_failed": np.array([num_failed]), "raised": raised})
    if error is None:
        assert_failure_noticed(CASE, found)
        return
    with pytest.raises(error):
        assert_failure_noticed(CASE, found)


def test_without_any_step_seen_nothing_is_proven():
    """Writes that torch does not make are not seen."""
    for check in MEETING[:2]:
        with pytest.raises(NotProven):
            check(CASE, run_of(change={"meeting": np.array([0, 0, 2])}))


def test_labels_tell_the_cases_of_a_launch_apart():
    """A launch refuses two cases of one label."""
    labels = [case.label for case in cases()]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("case", [case for case in cases() if case.meets])
def test_processes_meet_in_steps_that_are_drawn(case):
    """In each epoch, where all of them are in it; a lock around most steps is not worth while."""
    drawn = [inputs_of(case, seed=seed)[0]["meeting_steps"].tolist() for seed in range(200)]
    parts = [len(range(n, case.num_examples, case.num_processes)) for n in range(3)]
    by_part = [-(-part // case.batch_size) for part in parts[: case.num_processes]]
    everybodys = {
        step
        for epoch in range(case.epochs)
        for step in range(epoch * max(by_part) + 1, (epoch + 1) * min(by_part) + 1)
    }
    assert {step for steps in drawn for step in steps} == everybodys - {1}
    assert all(len(set(steps)) == 6 and steps == sorted(steps) for steps in drawn)
    assert inputs_of(replace(case, meets=False))[0]["meeting_steps"].tolist() == []

"""The checks of hogwild accept every schedule of a right run, and no wrong one."""

from dataclasses import replace

import numpy as np
import pytest
from psgd_hogwild.hogwild_cases import (
    FOR_EACH_STAY,
    FOR_EACH_WRITE,
    Hogwild,
    cases,
)
from psgd_hogwild.hogwild_checks import (
    assert_all_steps_count,
    assert_in_threads,
    assert_loss_falls,
    assert_own_gradients,
    assert_parts_complete,
    assert_parts_disjoint,
    assert_processes,
    assert_serial,
    assert_shared,
    assert_workers,
)
from psgd_hogwild.hogwild_workers import digest_of
from psgd_hogwild.softmax_regression import gradient
from psgd_hogwild.training_cases import NUM_PARAMETERS, given_start
from psgd_hogwild.waiting_checks import (
    assert_failure_noticed,
    assert_nobody_waits,
    assert_same_time,
)

from grader.api import NotProven, RuleViolation, WrongAnswer

from .made_outcomes import STEP_NS, batches_of, facts_of, inputs_of, key_of, outcome_of, told

CASE = Hogwild(num_processes=2, num_examples=16, epochs=2, batch_size=4, lr=2.0**-8)


def stays(*told):
    """Return what a probe says of stays in a step: who, from when to when, who had stopped.

    Times are in thousandths of a step.
    """
    ns = STEP_NS // 1000
    columns = np.array(told, dtype=np.int64).reshape(-1, 4).T * np.array([[1], [ns], [ns], [1]])
    return dict(zip(FOR_EACH_STAY, columns, strict=True))


def run_of(case=CASE, *, move=None, parts=None, owners=None, change=None, share=1.0, one_by_one=0):
    """Return the outcome of a run whose processes take turns; move(steps, owners) is its result.

    share: how much of a step of one process comes to the weights of the other. one_by_one: the
    second process starts when the first one has ended.
    """
    (given,) = inputs_of(case)
    parts = parts or [range(n, case.num_examples, case.num_processes) for n in range(2)]
    by_process = [batches_of(case, part) for part in parts[: case.num_processes]]
    turns = [(n, batch) for turn in zip(*by_process, strict=True) for n, batch in enumerate(turn)]
    turns.sort(key=lambda turn: turn[0] * one_by_one)
    who = np.array([n for n, _ in turns]) if owners is None else owners
    start = given_start(outcome_of(case, [given], [{}]), 0)
    weights, gradients = [start] * 2, []
    for number, rows in turns:
        gradients.append(
            gradient(weights[number], given["inputs"][rows].astype(float), given["labels"][rows])
        )
        for at in range(2):
            weights[at] = weights[at] - case.lr * gradients[-1] * (1 if at == number else share)
    steps = -case.lr * np.array(gradients)
    end = weights[0] if move is None else start + move(steps, who)
    result = {
        **told(given, end, [batch for _, batch in turns], who, np.array(gradients)),
        "writers": np.repeat(who, 2),
        "written": np.tile([0, 1], len(who)),
        "written_size": np.tile([NUM_PARAMETERS - 3, 3], len(who)),
        "meeting": np.array([2, 0, 2]),
        **stays(),
        "held": "",
        "waited": "",
        "shared": "",
        "num_failed": np.array([0]),
        "is_early": np.array([0]),
        "raised": "",
        **(change or {}),
    }
    return outcome_of(case, [given], [result])


def said_in(found):
    """Return what the processes of a run have said, to whoever listened."""
    (gradients,), (processes,) = found["gradients"], found["processes"]
    return [
        tuple(f"{digest_of(gradient)} 0" for gradient in gradients[processes == number])
        for number in range(processes.max() + 1)
    ]


PARTS = (assert_parts_disjoint, assert_parts_complete)
MEETING = (assert_same_time, assert_nobody_waits("[]"))
ALL = [
    *(assert_workers, assert_processes, *PARTS, assert_shared, assert_own_gradients),
    *(assert_all_steps_count, assert_loss_falls, *MEETING),
]


@pytest.mark.parametrize("check", ALL)
def test_a_right_run_passes_every_check(check):
    """Two processes that take turns are one of the schedules that may happen."""
    check(CASE, run_of())


@pytest.mark.parametrize(
    ("change", "key", "facts"),
    [
        (
            {"processes": np.zeros(1, np.int64)},
            "record.batches_inconsistent",
            {"gradients": 8, "processes": 1, "threads": 8},
        ),
        (
            {"gradients": np.zeros((9, NUM_PARAMETERS), np.float32)},
            "record.batches_inconsistent",
            {"gradients": 9, "processes": 8},
        ),
        (
            {"rows_per_batch": np.full(7, 4)},
            "record.batches_inconsistent",
            {"rows_per_batch": 7, "total_length": 28},
        ),
        (
            {"rows_per_batch": np.array([2**62] * 4 + [8] * 4)},
            "record.batches_inconsistent",
            {"total_length": 32, "num_examples": 32},
        ),
        (
            {"written": np.zeros(3, np.int64)},
            "record.writes_inconsistent",
            {"writers": 16, "written": 3, "written_size": 16},
        ),
        (
            {"written_size": np.zeros(0, np.int64)},
            "record.writes_inconsistent",
            {"written_size": 0},
        ),
    ],
)
@pytest.mark.parametrize(
    "check", [assert_workers, assert_processes, *PARTS, assert_shared, assert_all_steps_count]
)
def test_answers_that_do_not_fit_each_other_are_told(check, change, key, facts):
    """A rank can send arrays of any length."""
    with pytest.raises(WrongAnswer) as error:
        check(CASE, run_of(change=change))
    assert facts.items() <= facts_of(error, key).items()


@pytest.mark.parametrize("check", ALL)
def test_a_run_whose_processes_were_all_seen_passes_every_check(check):
    """More may have shown up than trained: a pool has workers without work."""
    found = run_of()
    check(CASE, replace(found, said_by_process=(*said_in(found), ()), num_processes_at_once=2))


@pytest.mark.parametrize("check", [assert_processes, assert_shared])
@pytest.mark.parametrize(
    "told",
    [
        pytest.param(lambda first, second: [(*first, *second)], id="by one process"),
        pytest.param(lambda first, second: [(*first, *second), ()], id="beside one that is silent"),
        pytest.param(lambda first, second: [first, second[1:]], id="but for one gradient"),
    ],
)
def test_gradients_that_their_process_has_not_told_prove_nothing(check, told):
    """What the processes write of themselves may be written by one alone."""
    found = run_of()
    told_of = "2 processes computed gradients; the grader saw 1 process"
    with pytest.raises(NotProven, match=told_of) as error:
        check(CASE, replace(found, said_by_process=tuple(told(*said_in(found)))))
    assert facts_of(error, "hogwild.processes_not_seen") == {"recorded": 2, "seen": 1}


def test_processes_that_were_never_there_together_did_not_meet():
    """One after the other may have come."""
    told = "2 processes met in the middle of a step; the grader saw 1 process"
    with pytest.raises(NotProven, match=told) as error:
        assert_same_time(CASE, replace(run_of(), num_processes_at_once=1))
    assert facts_of(error, "hogwild.processes_not_seen") == {"recorded": 2, "seen": 1}


@pytest.mark.parametrize("check", [assert_all_steps_count, assert_loss_falls])
def test_some_lost_writes_are_forgiven(check):
    """Two of eight steps lost on a third of the weights is more than ever happens."""
    is_lost = np.arange(NUM_PARAMETERS) % 3 == 0
    check(CASE, run_of(move=lambda steps, who: steps.sum(axis=0) - is_lost * steps[:2].sum(axis=0)))


def piled_up(steps, who):
    """Return the sum of all steps of processes that never set a gradient to zero."""
    return sum(steps[who == each].cumsum(axis=0).sum(axis=0) for each in set(who.tolist()))


@pytest.mark.parametrize(
    ("move", "key", "distance"),
    [
        (lambda steps, who: np.zeros(NUM_PARAMETERS), "hogwild.start_weights_returned", 1),
        (lambda steps, who: steps.sum(axis=0) / 2, "hogwild.steps_averaged", 0.5),
        (piled_up, "hogwild.gradients_pile_up", 1.64),
        (lambda steps, who: steps[who == 1].sum(axis=0), "hogwild.steps_of_one_process", None),
        (lambda steps, who: 3 * steps.sum(axis=0), "hogwild.steps_do_not_add_up", 2),
        (lambda steps, who: 0.74 * steps.sum(axis=0), "hogwild.steps_do_not_add_up", 0.26),
    ],
)
def test_steps_that_do_not_add_up_are_told(move, key, distance):
    """None, half, piled up, one process's, too many, all of them too short."""
    with pytest.raises(WrongAnswer) as error:
        assert_all_steps_count(CASE, run_of(move=move))
    assert key_of(error) == key
    facts = facts_of(error, "hogwild.steps_do_not_add_up")
    assert distance in (None, facts["distance"])
    if distance is None:
        assert facts_of(error, key) == {"process": 1}


def test_a_loss_that_hardly_falls_is_told():
    """Half the way is less than three quarters."""
    told = "must be at least 75% of plain SGD's"
    with pytest.raises(WrongAnswer, match=told) as error:
        assert_loss_falls(CASE, run_of(move=lambda steps, who: steps.sum(axis=0) / 2))
    facts = facts_of(error, "hogwild.loss_falls_too_little")
    assert facts["before"] > facts["after"] > facts["plain_sgd"]
    assert key_of(error) == "hogwild.steps_averaged"
    with pytest.raises(WrongAnswer) as error:
        assert_loss_falls(CASE, run_of(move=lambda steps, who: steps.sum(axis=0) / 3))
    assert key_of(error) == "hogwild.loss_falls_too_little"


def test_one_process_is_compared_with_sgd():
    """The exact result passes, another one does not."""
    case = replace(CASE, num_processes=1)
    assert_serial(case, run_of(case, parts=[range(16)]))
    for move, key in (
        (lambda steps, who: steps.sum() * 0, "hogwild.start_weights_returned"),
        (lambda steps, who: steps.sum(axis=0) / 2, "value.differs"),
    ):
        with pytest.raises(WrongAnswer, match=r"weight\[0, 0\]") as error:
            assert_serial(case, run_of(case, parts=[range(16)], move=move))
        assert key_of(error) == key
        assert error.value.differences


def test_too_few_processes_are_told_with_their_threads():
    """Threads are not processes."""
    change = {"threads": np.array([0, 1] * 4)}
    found = run_of(owners=np.zeros(8, np.int64), change=change)
    with pytest.raises(WrongAnswer, match="1 process computed gradients, in 2 threads") as error:
        assert_processes(CASE, found)
    assert facts_of(error, "hogwild.threads") == {"number": 1, "expected": 2, "num_threads": 2}
    for check in (assert_workers, *PARTS):
        check(CASE, found)
    found = run_of(owners=np.zeros(8, np.int64), change={"threads": np.array([0, 1, 2, 0] * 2)})
    with pytest.raises(WrongAnswer, match="3 threads computed gradients; num_processes is"):
        assert_workers(CASE, found)


def test_one_worker_is_not_several():
    """A loop over the parts."""
    for check, key in (
        (assert_workers, "hogwild.number_of_workers"),
        (assert_processes, "hogwild.number_of_processes"),
    ):
        with pytest.raises(
            WrongAnswer, match="1 process computed gradients; num_processes is"
        ) as error:
            check(CASE, run_of(owners=np.zeros(8, np.int64)))
        assert key_of(error) == key


def test_training_on_the_same_data_is_told():
    """The parts are to be disjoint; all together train on each example once an epoch."""
    owners = ("process 0", "process 1")
    told = {"owners": owners, "example": 0, "number": 16}
    for check in PARTS:
        with pytest.raises(WrongAnswer) as error:
            check(CASE, run_of(parts=[range(16)] * 2))
        assert facts_of(error, "data.parts_overlap") == told


def test_a_gradient_in_shared_memory_is_told_with_the_line_of_the_step():
    """Whether its steps add up or not."""
    found = run_of(change={"shared": "weight.grad, at hogwild.py:9"})
    with pytest.raises(WrongAnswer, match=r"at hogwild\.py:9 with weight\.grad") as error:
        assert_own_gradients(CASE, found)
    facts = {"name": "weight.grad", "place": "hogwild.py:9"}
    assert facts_of(error, "hogwild.gradients_shared") == facts


@pytest.mark.parametrize(
    ("change", "words", "key", "facts"),
    [
        (
            {"written": np.full(16, -1)},
            "its own memory",
            "hogwild.weights_not_shared",
            {"process": 0, "num_gradients": 4},
        ),
        (
            {"writers": np.array([0] * 16), "written": np.tile([0, 1], 8)},
            "to no parameter",
            "hogwild.no_step_written",
            {"process": 1, "num_gradients": 4},
        ),
        (
            {"written": np.array([0, 1, 2, 3] * 4)},
            "no step",
            "hogwild.few_steps_shared",
            {"process": 0, "num_gradients": 4, "num_steps": 0},
        ),
        (
            {"written": np.array([0, 1] * 6 + [0, 1, -1, -1])},
            "only 3 steps",
            "hogwild.few_steps_shared",
            {"process": 1, "num_gradients": 4, "num_steps": 3},
        ),
    ],
)
def test_steps_outside_the_shared_memory_are_told(change, words, key, facts):
    """In private memory, nowhere, each in shared memory of its own, or not all of them."""
    with pytest.raises(RuleViolation, match=words) as error:
        assert_shared(CASE, run_of(change=change, share=0.0))
    assert facts_of(error, key) == facts


@pytest.mark.parametrize("memory", [0, -1])
def test_steps_of_a_process_without_gradients_are_not_invisible_ones(memory):
    """What torch does not write is believed, but not where another process writes it."""
    none = {name: np.zeros(0, np.int64) for name in ("writers", "written", "written_size")}
    assert_shared(CASE, run_of(change=none))
    caller = {"writers": np.full(8, 2), "written": np.full(8, memory)}
    with pytest.raises(RuleViolation) as error:
        assert_shared(CASE, run_of(change={**caller, "written_size": np.full(8, NUM_PARAMETERS)}))
    assert key_of(error) == "hogwild.no_step_written"


def test_private_weights_beside_a_common_sum_are_told():
    """All steps are written where all processes write, and no gradient was computed there."""
    with pytest.raises(RuleViolation, match="contained only its own steps") as error:
        assert_shared(CASE, run_of(share=0.0))
    assert facts_of(error, "hogwild.own_steps_only") == {"process": 0}


def test_weights_with_few_steps_of_others_prove_nothing():
    """Nor do they accuse."""
    with pytest.raises(NotProven, match="only 10% of the other processes' steps") as error:
        assert_shared(CASE, run_of(share=0.1))
    facts = facts_of(error, "hogwild.few_steps_of_others")
    assert facts == {"process": 0, "share": pytest.approx(0.1, abs=0.01)}
    assert_shared(CASE, run_of(share=0.5))


def test_gradients_that_the_steps_do_not_explain_are_no_evidence():
    """Of the first of all processes, to which no other comes, and those of another loss."""
    assert_shared(CASE, run_of(one_by_one=1))
    gradients = run_of(share=0.0)["gradients"][0]
    run = run_of(change={"gradients": gradients[::-1].copy()})
    assert_shared(CASE, run)
    with pytest.raises(NotProven, match="that do not follow from the recorded"):
        assert_shared(CASE, run, is_sgd=True)


def test_gradients_at_the_start_weights_show_that_no_step_is_shared():
    """Whatever is written there, as zeros that are added."""
    with pytest.raises(NotProven, match="that do not follow from the recorded"):
        assert_shared(CASE, run_of(replace(CASE, lr=CASE.lr / 1024)))


@pytest.mark.parametrize("learning_rate", [CASE.lr / 2, CASE.lr / CASE.num_processes / 2])
def test_shorter_steps_on_shared_weights_are_no_private_weights(learning_rate):
    """Gradients at half of all steps are near to those at one of two processes' steps."""
    run = run_of(replace(CASE, lr=learning_rate))
    assert_shared(CASE, run)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"written": np.tile([5, 7], 8)}, id="in any memory"),
        pytest.param(
            {"written": np.zeros(16, np.int64), "written_size": np.full(16, 9)}, id="as one vector"
        ),
        pytest.param({name: np.zeros(0, np.int64) for name in FOR_EACH_WRITE}, id="unseen"),
        pytest.param({"written": np.full(16, -1)}, id="of which others are loaded"),
    ],
)
def test_steps_in_whatever_shared_memory_count(change):
    """Where none is seen to be written there, gradients show whose steps are in the weights."""
    assert_shared(CASE, run_of(change=change))


def test_gradients_at_the_start_are_no_sign_of_others():
    """Whoever never steps has nobody's steps in its weights."""
    case = replace(CASE, lr=0.0)
    found = run_of(case, change={name: np.zeros(0, np.int64) for name in FOR_EACH_WRITE})
    with pytest.raises(RuleViolation, match="to no parameter"):
        assert_shared(CASE, found)


def test_threads_are_told_from_processes():
    """Of one process, as many as asked for."""
    threads = {"threads": np.array([0, 1] * 4)}
    assert_in_threads(CASE, run_of(owners=np.zeros(8, np.int64), change=threads))
    for other in (run_of(), run_of(owners=np.zeros(8, np.int64))):
        with pytest.raises(WrongAnswer):
            assert_in_threads(CASE, other)


LOCK = '[["hogwild.py", 1, "Lock"]]'


def locks_of(error):
    """Return the names of the locks that are told beside a cause, each with its line."""
    first, *locks = error.value.findings
    assert all(each.key == "lock.named" and set(each.places) <= set(first.places) for each in locks)
    assert all(each.places == ("hogwild.py:1",) for each in locks)
    return [each.facts["name"] for each in locks]


@pytest.mark.parametrize(
    ("meeting", "names", "locks"),
    [([1, 1, 2], "[]", []), ([2, 1, 2], LOCK, ["Lock"])],
)
def test_waiting_for_each_other_is_told(meeting, names, locks):
    """With the lock that the files name; all were started."""
    outcome = run_of(change={"meeting": np.array(meeting)})
    with pytest.raises(RuleViolation) as error:
        assert_nobody_waits(names)(CASE, outcome)
    assert key_of(error) == "hogwild.waits_in_step"
    assert locks_of(error) == locks
    assert_same_time(CASE, outcome)


def test_who_comes_after_one_gave_up_need_not_be_there_with_it():
    """As behind a lock; but two must have been there at once."""
    late, together = (
        replace(run_of(change={"meeting": np.array([3, gave_up, 3])}), num_processes_at_once=2)
        for gave_up in (1, 0)
    )
    assert_same_time(CASE, late)
    with pytest.raises(NotProven, match="the grader saw 1 process"):
        assert_same_time(CASE, replace(late, num_processes_at_once=1))
    with pytest.raises(NotProven, match="3 processes met"):
        assert_same_time(CASE, together)


def test_processes_that_start_when_others_have_ended_are_told():
    """The first one waits for the others in vain."""
    outcome = run_of(change={"meeting": np.array([1, 1, 1])})
    with pytest.raises(RuleViolation) as error:
        assert_same_time(CASE, outcome)
    assert facts_of(error, "hogwild.started_one_by_one") == {"num_started": 1}


# Process 1 ends its batches, two an epoch, at 1500, 3500, 5500 and 7500.
STOPPED = ((0, 2000, 3000, 1), (0, 6000, 7000, 1))


def test_a_process_that_stops_twice_while_another_is_held_up_is_told():
    outcome = run_of(change=stays(*STOPPED))
    with pytest.raises(RuleViolation) as error:
        assert_nobody_waits(LOCK)(CASE, outcome)
    assert key_of(error) == "hogwild.waits_while_held_up"
    assert locks_of(error) == ["Lock"]


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
    with pytest.raises(WrongAnswer) as error:
        MEETING[1](CASE, run_of(change=change))
    facts = facts_of(error, "record.stays_inconsistent")
    assert (facts["stayed"], facts["stopped"]) == (2, 1)


@pytest.mark.parametrize(
    ("change", "names", "key", "locks"),
    [
        ({"held": "hogwild.py:9"}, LOCK, "hogwild.lock_held", ["Lock"]),
        ({"waited": "hogwild.py:9"}, "[]", "hogwild.waits_between_batches", []),
    ],
)
def test_locks_beside_the_step_are_told(change, names, key, locks):
    """The meeting does not see them: all processes can be in the middle of a step."""
    with pytest.raises(RuleViolation, match=r"it ran hogwild\.py:9\b") as error:
        assert_nobody_waits(names)(CASE, run_of(change=change))
    assert key_of(error) == key
    assert error.value.findings[0].places[0] == "hogwild.py:9"
    assert locks_of(error) == locks


def test_all_that_is_seen_of_a_lock_is_told():
    """That it is held, and that others do not come."""
    change = {"held": "hogwild.py:9", "meeting": np.array([1, 1, 2])}
    with pytest.raises(RuleViolation) as error:
        assert_nobody_waits("[]")(CASE, run_of(change=change))
    keys = [each.key for each in error.value.findings]
    assert keys == ["hogwild.lock_held", "hogwild.waits_in_step"]


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


def test_without_any_meeting_nothing_is_proven():
    """Of who takes no batch in which all are to meet."""
    for check in MEETING:
        with pytest.raises(NotProven):
            check(CASE, run_of(change={"meeting": np.array([0, 0, 2])}))


def test_labels_tell_the_cases_of_a_launch_apart():
    """A launch refuses two cases of one label."""
    labels = [case.label for case in cases()]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("case", [c for c in cases() if c.meets and not c.is_real_size])
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

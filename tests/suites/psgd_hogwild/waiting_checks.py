"""Whether the processes of hogwild train at the same time, and whether one waits for another.

The verdicts hardly depend on how busy the machine is. Some steps of each epoch are drawn for all to
meet in: a process that comes to one stays in it until the others are in theirs. While they are
ready to run, or have had a moment on a core, it goes on waiting, for 15 s at most: to come takes a
forked one 0.1 s of CPU time. While one is being started, it waits for 60 s at most: a spawned
process imports torch first. It gives up only when it has seen all others asleep for 3 s, as whoever
waits for a lock is. A lock around the step cannot pass: its holder stays, so nobody else can come.
Besides, a process is held up in a step now and then, drawn as it comes to it and told to
nobody. Each other one has 0.2 s of its own to take six batches, asleep or on a core, so that busy
cores only make it longer; who does not, in the midst of an epoch and twice in a training, seems to
wait.
A lock around another part of the batch is asked whether it is held at every forward pass,
gradient and write (one of a file is told by Linux), and a wait in between leaves its count; both
are facts of one process, with no clock in them.

All this is told by the very processes that it is about, whose code may change it: a lint, with the
price of one. That they were there at one moment is counted from outside, by the kernel.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from grader.api import (
    Finding,
    NotProven,
    Outcome,
    RuleViolation,
    WrongAnswer,
    case_context,
    counted,
    found,
)

from .hogwild_cases import FOR_EACH_STAY, Hogwild
from .hogwild_checks import Check, assert_processes
from .hogwild_workers import assert_seen
from .sources import LOCKS, WAITS, first_named


def assert_same_time(case: Hogwild, outcome: Outcome) -> None:
    """Assert that processes train, and that none had to end before the others were started.

    Raises RuleViolation with how many starts had begun; NotProven when none was seen in a step, or
    fewer were there at one moment than are said to have been.
    """
    assert_processes(case, outcome)
    with case_context(case, outcome):
        num_arrived, num_gave_up, num_started = _meeting(outcome)
        if num_gave_up and num_started < case.num_processes:
            text = f"Only {counted(num_started, 'process', 'processes')} had started when one "
            text += "reached the middle of a step; no other process started for 3 s."
            helps = "start all processes before you join the first"
            facts: dict[str, Any] = {"num_started": num_started}
            raise RuleViolation.of("hogwild.started_one_by_one", text, help=helps, **facts)
        # Where one gave up, others arrived after it had gone on, or had even ended.
        num_together = min(num_arrived, 2) if num_gave_up else num_arrived
        assert_seen(outcome.num_processes_at_once, num_together, "met in the middle of a step")


def assert_nobody_waits(names: str) -> Check:
    """Return the check that no process holds a lock in training, or waits for another.

    names: those that the files handed in use, to name a lock in them. It is a lint: what it asks is
    told by the processes that it asks about. The check raises RuleViolation, and what
    assert_same_time raises.
    """
    lock = first_named(names, (*LOCKS, *WAITS))
    places = [str(each.facts["place"]) for each in lock]

    def check(case: Hogwild, outcome: Outcome) -> None:
        assert_same_time(case, outcome)
        with case_context(case, outcome):
            waits = [
                *_lock_held(outcome, places),
                *_wait_in_a_step(case, outcome, places),
                *_turn_waited(outcome, places),
            ]
            if waits:
                raise RuleViolation(*waits, *lock)

    return check


def _lock_held(outcome: Outcome, places: Sequence[str]) -> list[Finding]:
    (held,) = outcome["held"]
    text = f"A process held a lock while it ran {held}."
    helps = "no lock may be held during the forward pass, the backward pass, or the step"
    return [found("hogwild.lock_held", text, help=helps, places=[held, *places])] if held else []


def _wait_in_a_step(case: Hogwild, outcome: Outcome, places: Sequence[str]) -> list[Finding]:
    num_arrived, num_gave_up, _ = _meeting(outcome)
    if num_gave_up or num_arrived < case.num_processes:
        text = "While one process was in the middle of a step, the others did not reach "
        text += "theirs. They probably waited for it."
        return [found("hogwild.waits_in_step", text, help=_HELP, places=places)]
    if times_stopped(case, outcome) >= _TIMES_STOPPED:
        text = "More than once, while the grader paused one process in a step, another took fewer "
        text += "than 6 batches in 0.2 s of its own time. It probably waited."
        return [found("hogwild.waits_while_held_up", text, help=_HELP, places=places)]
    return []


def _turn_waited(outcome: Outcome, places: Sequence[str]) -> list[Finding]:
    (waited,) = outcome["waited"]
    text = "Between two of its batches, a process waited for its turn or for the others, "
    text += f"before it ran {waited}."
    helps = "no process may wait for another between its first batch and its last"
    waits = found("hogwild.waits_between_batches", text, help=helps, places=[waited, *places])
    return [waits] if waited else []


_HELP = "in Hogwild, no process waits for another: look for a lock or for turn-taking"


def times_stopped(case: Hogwild, outcome: Outcome) -> int:
    """Return how often one process stopped in the midst of an epoch while another was held up.

    The most of any process. A stop that two saw, held up at the same time, is one.
    Where it was kept in a step itself meanwhile, that is no sign. Nor is it where the process was
    before, between or behind its epochs at any moment of that time: a wait there is another matter,
    and has another price.
    """
    (processes,), (ended_ns,) = outcome["processes"], outcome["ended_ns"]
    stays = [outcome[name][0] for name in FOR_EACH_STAY]
    if len({len(column) for column in stays}) > 1 or len(stays[0]) > _MOST_STAYS:
        told: dict[str, Any] = {name: len(outcome[name][0]) for name in FOR_EACH_STAY}
        numbers = ", ".join(f"{number} {name}" for name, number in told.items())
        text = f"The record of processes paused in a step is inconsistent: {numbers}."
        raise WrongAnswer.of("record.stays_inconsistent", text, **told)
    who, begin_ns, end_ns, _ = stays
    number: Counter[int] = Counter()
    counted_until_ns: dict[int, int] = {}
    for since_ns, until_ns, stopped in sorted(zip(*stays[1:], strict=True)):
        ends_ns = ended_ns[processes == stopped]
        per_epoch, rest = divmod(len(ends_ns), case.epochs)
        if not per_epoch or rest or since_ns <= counted_until_ns.get(stopped, -1):
            continue
        first, last = ((ends_ns <= time_ns).sum() for time_ns in (since_ns, until_ns))
        is_in_an_epoch = all(taken % per_epoch for taken in range(first, last + 1))
        is_kept = (who == stopped) & (since_ns <= end_ns) & (begin_ns <= until_ns)
        if is_in_an_epoch and not is_kept.any():
            number[stopped] += 1
            counted_until_ns[stopped] = until_ns
    return max(number.values(), default=0)


_MOST_STAYS = 5000
"""More than any training has: each is a hundredth of a second, and there is one for each other."""
_TIMES_STOPPED = 2
"""Who takes turns stops nearly each time; who waits for nobody, never."""


def assert_failure_noticed(case: Hogwild, outcome: Outcome) -> None:
    """Assert that hogwild raised an exception when one of its processes did.

    Raises WrongAnswer when it returned; NotProven when no process came to the failing batch.
    """
    with case_context(case, outcome):
        (raised,), (num_failed,) = outcome["raised"], outcome["num_failed"][0].tolist()
        if not num_failed:
            text = "No process that hogwild started reached the batch that the grader makes "
            text += "fail."
            raise NotProven.of("hogwild.no_failing_batch", text)
        if not raised:
            text = "A process raised an exception, but hogwild returned as if all processes "
            text += "had finished."
            helps = "look at the exit codes after join(), or use torch.multiprocessing.spawn"
            raise WrongAnswer.of("hogwild.failure_ignored", text, help=helps)


def _meeting(outcome: Outcome) -> tuple[int, int, int]:
    """Return how many processes came to the meeting, gave up on it, and were being started by then.

    Raises NotProven when none came.
    """
    num_arrived, num_gave_up, num_started = outcome["meeting"][0].tolist()
    if not num_arrived:
        text = "No process reached the batch where the grader waits for all. "
        text += "So the grader could not check that they train simultaneously."
        raise NotProven.of("hogwild.never_met", text)
    return num_arrived, num_gave_up, num_started

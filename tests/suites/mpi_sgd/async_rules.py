"""What the asynchronous part demands of the way to its result."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction

from grader.api import (
    Launch,
    MessageFault,
    NotProven,
    Outcome,
    RuleViolation,
    assert_messages_matter,
    case_context,
    every_message_fault,
    found,
    in_drawn_order,
    inject_faults,
    not_run,
)

from . import ownership
from .async_cases import FEW_RANKS, LARGE, ONE_MASTER, TWO_MASTERS
from .async_checks import (
    assert_every_worker_trains,
    assert_gradients_reach_a_master,
    assert_rank_0_holds_the_result,
    assert_replays,
    slow_rank,
)
from .async_contents import assert_contents, sends_of_gradients
from .fit_cases import SLOW, SLOW_LATER, Fit, trained_batches
from .gradient_faults import narrowed

Run = Callable[..., Launch]
Cases = dict[int, tuple[Fit, ...]]

ALTERED_RANKS = {ONE_MASTER: (4, 3), TWO_MASTERS: (4, 5, 3)}
"""On one of which messages are altered, which the seed decides; by the number of masters."""
_MOST_TIMES_A_GRADIENT = 3
"""What a worker may send for each batch: the gradient, and the weights, say."""


def assert_messages(case: Fit, outcome: Outcome) -> None:
    """Assert that gradients and new values travel between a worker and each layer's one master.

    Raises RuleViolation with the bytes.
    """
    with case_context(case, outcome):
        numbers = {
            rank: len(trained_batches(case, outcome, rank))
            for rank in range(case.num_masters, outcome.ranks)
        }
        ownership.assert_one_owner_per_layer(outcome.trace, case.sizes, case.num_masters, numbers)


def assert_gradients_matter(run: Run, cases: Cases) -> None:
    """Assert that no order of updates explains a training once a worker's gradients are altered.

    With one master, and with two. No two runs go the same way, so answers are not compared: the
    replay has to fail. Where none holds there is nothing to be spoilt, and the tests about that are
    not paid. cases: by ranks, all that the part is called with. Raises NotProven.
    """
    for group in ALTERED_RANKS:
        for case, outcome in _drawn_training(run, cases, group):
            workers = range(case.num_masters, outcome.ranks)
            faults = every_message_fault(outcome, workers)
            _assert_matter(run, case, outcome, [_in_gradients(case, outcome, f) for f in faults])


def assert_new_values_matter(run: Run, cases: Cases) -> None:
    """Assert the same of the messages of two masters; raises NotProven."""
    for case, outcome in _drawn_training(run, cases, TWO_MASTERS):
        _assert_matter(run, case, outcome, every_message_fault(outcome, range(case.num_masters)))


def _drawn_training(run: Run, cases: Cases, group: str) -> Sequence[tuple[Fit, Outcome]]:
    """Return one training whose replay holds, if there is one."""
    launches = [run(ranks, cases[ranks]).having(group=group) for ranks in ALTERED_RANKS[group]]
    held = [each for launch in launches for each in launch.holding(assert_rank_0_holds_the_result)]
    return in_drawn_order(held[0][1], held)[:1] if held else []


def _assert_matter(run: Run, case: Fit, outcome: Outcome, faults: Sequence[MessageFault]) -> None:
    check = assert_rank_0_holds_the_result
    # A dummy's gradient, or a loss, may be in the same message.
    effects = inject_faults(run, outcome.ranks, case, outcome, faults, check, tries_elsewhere=True)
    assert_messages_matter(outcome.trace, effects)


def _in_gradients(case: Fit, outcome: Outcome, fault: MessageFault) -> MessageFault:
    """Return a fault of all messages of a worker, for those alone that hold gradients."""
    holding = {call.sequence for call in sends_of_gradients(case, outcome, fault.rank)}
    return narrowed(outcome.trace, fault, lambda call: call.sequence in holding)


def assert_others_went_on(case: Fit, outcome: Outcome) -> None:
    """Assert that enough of the others' batches reached the masters while the slow worker was held.

    A worker that computes gradients without the network's products of matrices is not held in its
    backward pass. Raises RuleViolation; WrongAnswer where a worker has no part in the training.
    """
    assert_every_worker_trains(case, outcome)
    slow = slow_rank(outcome)
    is_held = len(outcome["released_ns"][slow]) > 0
    if not is_held and outcome.inputs[0]["held_product"] > case.num_forward_products:
        return
    masters = "the master" if case.num_masters == 1 else "a master"
    with case_context(case, outcome):
        until_ns = [_held_until_ns(case, outcome, master) for master in range(case.num_masters)]
        held_up = (
            worker
            for worker in range(case.num_masters, outcome.ranks)
            if worker != slow and _is_held_up(case, outcome, worker, until_ns)
        )
        if (worker := next(held_up, None)) is not None:
            raise RuleViolation(
                found(
                    "async.fixed_order",
                    f"While rank {slow} computed, {masters} stopped serving rank {worker}.",
                    help="does a master wait for the workers in a fixed order? It must accept "
                    "gradients from any worker, for example with MPI.ANY_SOURCE",
                    rank=slow,
                    worker=worker,
                    masters=case.num_masters,
                ),
                found(
                    "async.others_held_up",
                    f"While we paused rank {slow} in {_held_in(outcome)}, {masters} received "
                    f"gradients for too few of rank {worker}'s batches.",
                    rank=slow,
                    worker=worker,
                ),
            )


def _is_held_up(case: Fit, outcome: Outcome, worker: int, until_ns: Sequence[float]) -> bool:
    """Return whether masters received too little of a worker until then, or too much later.

    Copies of a gradient do not count: what comes later has to fit into the batches that are left,
    and one more, such as final weights.
    """
    batches = len(trained_batches(case, outcome, worker))
    reached = min(outcome.inputs[0]["reached_batch"], batches)
    before, in_all = (
        sum(
            ownership.num_bytes_before(outcome.trace, master, worker, each_ns)
            for master, each_ns in enumerate(ends_ns)
        )
        for ends_ns in (until_ns, case.num_masters * [math.inf])
    )
    least = sum(ownership.layer_num_bytes(case.sizes).values())
    most = least + ownership.ALLOWANCE_NUM_BYTES
    of_each = min(in_all / max(batches, 1), _MOST_TIMES_A_GRADIENT * case.num_masters * least)
    return before < least * reached or in_all - before > of_each * (batches - reached) + most


def assert_others_went_on_later(launch: Launch) -> None:
    """Assert the same where the worker becomes slow later; raises RuleViolation.

    Not where that run took too long, or made more calls than are kept: when the worker becomes slow
    is drawn. Raises RunFailed, or WrongAnswer, where it failed otherwise.
    """
    for case, outcome in launch.having(purpose=SLOW_LATER).ended_in_time():
        if not len(outcome["released_ns"][slow_rank(outcome)]):
            continue
        if not any(rank.truncated for rank in outcome.trace.ranks):
            assert_others_went_on(case, outcome)


def _held_until_ns(case: Fit, outcome: Outcome, master: int) -> float:
    """Return the moment before which a master can only have served others than the held worker.

    Later this is when the probe let go, unless more of its batches had arrived by then.
    """
    slow = slow_rank(outcome)
    if case.purpose == SLOW:
        return ownership.first_array_ns(outcome.trace, master, slow)
    arrived = outcome.inputs[0]["held_batch"] + 1
    share = Fraction(arrived, max(arrived, len(trained_batches(case, outcome, slow))))
    more_ns = ownership.more_than_share_ns(outcome.trace, master, slow, share)
    return min(more_ns, float(outcome["released_ns"][slow][0]))


def _held_in(outcome: Outcome) -> str:
    batch = outcome.inputs[0]["held_batch"]
    return f"its batch {batch + 1}" if batch else "its first batch"


def trainings(run: Run, cases: Cases) -> Iterator[tuple[Fit, Outcome]]:
    """Yield each training with buffering on few ranks whose gradients reach a master."""
    for ranks in FEW_RANKS:
        launch = run(ranks, cases[ranks]).having(purpose="values", synchronous_sends=False)
        yield from launch.holding(assert_gradients_reach_a_master)


def assert_trainings_are_sent(run: Run, cases: Cases) -> None:
    """Assert that messages hold what each training on few ranks is made of; raises NotProven."""
    for ranks in FEW_RANKS:
        launch = run(ranks, cases[ranks]).having(purpose="values", synchronous_sends=False)
        right = [case for case, _ in launch.holding(assert_replays)]
        for case, outcome in launch.holding(assert_gradients_reach_a_master):
            if case.group != LARGE:
                assert_contents(case, outcome, is_right=case in right)


def assert_rule(run: Run, cases: Cases, rule: Callable[[Fit, Outcome], None]) -> None:
    """Assert a rule on each training whose gradients reach a master, also beside a slow worker.

    Steps and replies in a wrong order count; a rule is not about these. Ends the test as not run
    where there is no such training.
    """
    judged = list(trainings(run, cases))
    if not judged:
        not_run("needs a run in which gradients reach a master")
    for case, outcome in judged:
        with case_context(case, outcome):
            rule(case, outcome)
    for ranks in (4, 5):
        slow = run(ranks, cases[ranks]).having(purpose="slow worker")
        for case, outcome in slow.holding(assert_gradients_reach_a_master):
            # Of the probe's own messages one side is recorded: what is missing breaks no rule.
            with suppress(NotProven), case_context(case, outcome):
                rule(case, outcome)


def assert_small_trainings_replay(run: Run, cases: Cases) -> None:
    """Assert right steps and replies of all trainings of small layers that came to an end.

    Which message comes first differs from run to run. What goes wrong by that in one of them
    counts for each test about steps, so that the same code is paid the same. Raises WrongAnswer.
    """
    for ranks in FEW_RANKS:
        launch = run(ranks, cases[ranks]).having(purpose="values", synchronous_sends=False)
        right = [case for case, _ in launch.holding(assert_replays)]
        for case, outcome in launch.answers():
            if isinstance(outcome, Outcome) and case not in right and case.group != LARGE:
                assert_replays(case, outcome)

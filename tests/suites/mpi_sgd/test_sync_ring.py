"""Synchronous training: the student's own ring all-reduce sums the gradients of a step."""

import pytest

from grader.api import (
    assert_one_neighbour,
    assert_only_point_to_point,
    assert_requests_completed,
    assert_time_ratio,
    part,
    points,
    same_failures_as,
    stage,
)

from .fit_cases import TIME_FACTOR
from .summing import assert_arrays_not_pickled, assert_messages_carry_gradients, assert_ring_traffic
from .sync_cases import (
    FEW_RANKS,
    FIRST_STEP,
    MANY_RANKS,
    SEVERAL_EPOCHS,
    SEVERAL_STEPS,
    STEPPING_RANKS,
    UNBUFFERED,
    Check,
    Run,
    assert_batches,
    assert_batches_wherever_trained,
    assert_every_rank_gets_all_gradients,
    assert_gradients_are_used,
    assert_gradients_come_together_somewhere,
    assert_rule,
    assert_trained_as_one_process,
    cases_by_ranks,
    launch_of,
    standalone_cases,
    timing_cases,
)
from .sync_proof import assert_gradients_come_from_messages
from .sync_stages import (
    assert_program_ends,
    assert_program_trains,
    assert_shown_before_failing,
    fails_in_a_call_of,
    sends_a_step_around_a_ring,
    sends_to_one_neighbour_on_some_ranks,
)

pytestmark = [part("sync_ring"), pytest.mark.mpi]

FILE = "sync_network.py"
CASES = cases_by_ranks(FILE, has_messages=True)
OWN = "ring_allreduce"


def assert_come_together(run: Run, used: Check, least_ranks: int) -> None:
    """Assert that gradients of all ranks come together in point-to-point messages."""
    assert_gradients_come_together_somewhere(run, CASES, used, least_ranks)
    assert_rule(run, CASES, assert_messages_carry_gradients, used)
    assert_gradients_come_from_messages(run, CASES, used)


@points(0.25)
def test_gradients_come_together(run):
    """gives every rank all gradients in point-to-point messages"""
    assert_come_together(run, assert_every_rank_gets_all_gradients, least_ranks=3)


@points(0.5, requires=test_gradients_come_together)
@pytest.mark.parametrize("ranks", FEW_RANKS)
def test_every_process_takes_the_summed_step(run, ranks):
    """matches serial training after the first step"""
    for case, outcome in launch_of(run, CASES, ranks, FIRST_STEP):
        assert_trained_as_one_process(case, outcome)


@points(0.5, requires=test_every_process_takes_the_summed_step)
@pytest.mark.parametrize("ranks", STEPPING_RANKS)
def test_several_steps(run, ranks):
    """matches serial training after several steps"""
    for case, outcome in launch_of(run, CASES, ranks, SEVERAL_STEPS):
        assert_trained_as_one_process(case, outcome)


@points(0.5, requires=test_every_process_takes_the_summed_step)
@pytest.mark.parametrize("ranks", FEW_RANKS)
def test_several_epochs(run, ranks):
    """matches serial training after several epochs"""
    for case, outcome in run(ranks, CASES[ranks]).having(group=SEVERAL_EPOCHS):
        assert_trained_as_one_process(case, outcome)


@points(0.25, requires=test_every_process_takes_the_summed_step)
@pytest.mark.parametrize("ranks", MANY_RANKS)
def test_many_processes(run, ranks):
    """matches serial training on many ranks (5, 8 and 16)"""
    for case, outcome in run(ranks, CASES[ranks]).having(group=FIRST_STEP):
        assert_trained_as_one_process(case, outcome)


@points(1, requires=test_gradients_come_together)
def test_one_process(run):
    """works on 1 rank"""
    for case, outcome in launch_of(run, CASES, 1, FIRST_STEP):
        assert_trained_as_one_process(case, outcome)


@points(1.5)
@pytest.mark.parametrize("ranks", FEW_RANKS)
def test_batches_are_shared_out(run, ranks):
    """shares each mini-batch out among the ranks

    Each rank trains on number_of_batches batches of mini_batch_size // n examples an epoch.
    """
    assert_batches_wherever_trained(run, CASES, ranks)


@points(0.75, requires=test_every_process_takes_the_summed_step, own=OWN)
@pytest.mark.parametrize("ranks", FEW_RANKS)
def test_works_when_no_message_is_buffered(run, ranks):
    """works without message buffering"""
    for case, outcome in run(ranks, CASES[ranks]).having(group=UNBUFFERED):
        assert_trained_as_one_process(case, outcome)


@points(1, requires=test_gradients_come_together, own=OWN)
def test_nothing_but_point_to_point_calls(run):
    """uses point-to-point calls only"""
    assert_rule(run, CASES, lambda case, outcome: assert_only_point_to_point(outcome.trace))


@points(2.25, requires=test_gradients_come_together, own=OWN)
def test_gradients_travel_around_a_ring(run):
    """sends the gradients around a ring"""

    def rule(case, outcome):
        assert_one_neighbour(outcome.trace)
        assert_ring_traffic(case, outcome)

    assert_rule(run, CASES, rule)


@points(1.25, requires=test_gradients_come_together, own=OWN)
def test_buffers_not_pickles(run):
    """sends arrays as buffers, not pickled"""
    assert_rule(run, CASES, lambda case, outcome: assert_arrays_not_pickled(outcome.trace))


@points(1.25, requires=test_gradients_come_together, own=OWN)
def test_every_request_is_completed(run):
    """completes every request"""
    assert_rule(run, CASES, lambda case, outcome: assert_requests_completed(outcome.trace))


@points(2.25, requires=test_every_process_takes_the_summed_step)
def test_works_as_a_program_of_its_own(run):
    """trains as a standalone program"""
    assert_program_trains(run(3, standalone_cases(FILE), standalone=True))


@points(1.5, requires=test_gradients_come_together)
def test_ends_as_a_program_of_its_own(run):
    """ends as a standalone program"""
    program = run(3, standalone_cases(FILE), standalone=True)
    assert_program_ends(program, run(3, CASES[3]))


@points(0.25, requires=test_gradients_come_together)
def test_keeps_up_with_serial_training(run):
    """takes at most 15x the time of serial training"""
    assert_time_ratio(
        lambda attempt: run(2, timing_cases(FILE, attempt) if attempt else CASES[2]),
        check=same_failures_as(run(2, CASES[2]), assert_batches, assert_trained_as_one_process),
        factor=TIME_FACTOR,
        what="a fit on 2 ranks, 12 batches on layers 784-128-64-10,",
        yardstick="serial training on the same batches",
    )


@stage(6, own=OWN)
def test_some_gradients_come_together(run):
    """combines gradients of all ranks in some arrays"""
    assert_come_together(run, assert_gradients_are_used, least_ranks=2)


@stage(6, own=OWN)
def test_a_step_is_sent_around_a_ring(run):
    """sends the gradients of a step around a ring"""
    assert_shown_before_failing(run, CASES, sends_a_step_around_a_ring)


@stage(6, own=OWN)
def test_the_call_of_the_ring_fails(run):
    """fails with an error in the line that calls ringallreduce"""
    assert_shown_before_failing(run, CASES, fails_in_a_call_of("ringallreduce"))


@stage(3.75, own=OWN)
def test_some_ranks_send_to_a_neighbour(run):
    """sends to one neighbour on all ranks but one"""
    assert_shown_before_failing(run, CASES, sends_to_one_neighbour_on_some_ranks)

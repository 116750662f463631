"""Synchronous training: an MPI collective sums the gradients of a step."""

import pytest

from grader.api import (
    assert_requests_completed,
    assert_time_ratio,
    part,
    points,
    same_failures_as,
    stage,
)

from .fit_cases import TIME_FACTOR
from .summing import (
    assert_arrays_not_pickled,
    assert_collectives_carry_gradients,
    assert_gradients_given_once,
)
from .sync_cases import (
    FEW_RANKS,
    FIRST_STEP,
    MANY_RANKS,
    SEVERAL_EPOCHS,
    SEVERAL_STEPS,
    STEPPING_RANKS,
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
from .sync_proof import assert_gradients_come_through_mpi
from .sync_stages import (
    assert_program_ends,
    assert_program_trains,
    assert_shown_before_failing,
    calls_a_collective_on_some_ranks,
    fails_in_a_collective,
    gives_a_step_to_collectives,
)

pytestmark = [part("sync_collective"), pytest.mark.mpi]

FILE = "sync_network_collective.py"
CASES = cases_by_ranks(FILE, has_messages=False)


def assert_come_together(run: Run, used: Check, least_ranks: int) -> None:
    """Assert that gradients of all ranks come together, and by what is sent."""
    assert_gradients_come_together_somewhere(run, CASES, used, least_ranks)
    assert_gradients_come_through_mpi(run, CASES, used)


@points(1)
def test_gradients_come_together(run):
    """gives every rank the gradients of all ranks"""
    assert_come_together(run, assert_every_rank_gets_all_gradients, least_ranks=3)


@points(0.75, requires=test_gradients_come_together)
@pytest.mark.parametrize("ranks", FEW_RANKS)
def test_every_process_takes_the_summed_step(run, ranks):
    """matches serial training after the first step"""
    for case, outcome in launch_of(run, CASES, ranks, FIRST_STEP):
        assert_trained_as_one_process(case, outcome)


@points(0.75, requires=test_every_process_takes_the_summed_step)
@pytest.mark.parametrize("ranks", STEPPING_RANKS)
def test_several_steps(run, ranks):
    """matches serial training after several steps"""
    for case, outcome in launch_of(run, CASES, ranks, SEVERAL_STEPS):
        assert_trained_as_one_process(case, outcome)


@points(0.75, requires=test_every_process_takes_the_summed_step)
@pytest.mark.parametrize("ranks", FEW_RANKS)
def test_several_epochs(run, ranks):
    """matches serial training after several epochs"""
    for case, outcome in run(ranks, CASES[ranks]).having(group=SEVERAL_EPOCHS):
        assert_trained_as_one_process(case, outcome)


@points(0.5, requires=test_every_process_takes_the_summed_step)
@pytest.mark.parametrize("ranks", MANY_RANKS)
def test_many_processes(run, ranks):
    """matches serial training on many ranks (5, 8 and 16)"""
    for case, outcome in run(ranks, CASES[ranks]).having(group=FIRST_STEP):
        assert_trained_as_one_process(case, outcome)


@points(1.25, requires=test_gradients_come_together)
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


@points(2, requires=test_gradients_come_together)
def test_a_collective_brings_the_gradients_together(run):
    """combines the gradients with an MPI collective"""
    assert_rule(run, CASES, assert_collectives_carry_gradients)


@points(0.25, requires=test_a_collective_brings_the_gradients_together)
def test_a_step_sends_the_gradients_once(run):
    """passes the gradients to a collective once per step"""
    assert_rule(run, CASES, assert_gradients_given_once)


@points(1.25, requires=test_a_collective_brings_the_gradients_together)
def test_buffers_not_pickles(run):
    """sends arrays as buffers, not pickled"""
    assert_rule(run, CASES, lambda case, outcome: assert_arrays_not_pickled(outcome.trace))


@points(1.25, requires=test_a_collective_brings_the_gradients_together)
def test_every_request_is_completed(run):
    """completes every request"""

    def rule(case, outcome):
        assert_requests_completed(outcome.trace, may_be_silent=True)

    assert_rule(run, CASES, rule)


@points(2, requires=test_every_process_takes_the_summed_step)
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


@stage(6)
def test_some_gradients_come_together(run):
    """combines gradients of all ranks in some arrays"""
    assert_come_together(run, assert_gradients_are_used, least_ranks=2)


@stage(6)
def test_a_step_is_given_to_collectives(run):
    """passes the gradients of a step to collectives"""
    assert_shown_before_failing(run, CASES, gives_a_step_to_collectives)


@stage(6)
def test_the_call_of_a_collective_fails(run):
    """fails with an error in the line that calls a collective"""
    assert_shown_before_failing(run, CASES, fails_in_a_collective)


@stage(3.75)
def test_some_ranks_call_a_collective(run):
    """calls a collective on all ranks but one"""
    assert_shown_before_failing(run, CASES, calls_a_collective_on_some_ranks)

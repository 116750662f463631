"""Asynchronous training: workers compute gradients, masters own the layers and step them.

No two runs have to go the same way. What the workers' forward passes saw tells in which order the
gradients were applied; every step in that order is then computed again and compared.
"""

import pytest

from grader.api import (
    assert_only_nonblocking,
    assert_requests_completed,
    assert_time_ratio,
    part,
    points,
    same_failures_as,
)

from .async_cases import (
    LARGE,
    MANY,
    ONE_MASTER,
    TWO_MASTERS,
    UNBUFFERED,
    UNEVEN,
    cases_by_ranks,
    standalone_cases,
    timing_cases,
)
from .async_checks import (
    assert_batches,
    assert_gradients_reach_a_master,
    assert_new_values_reach_the_workers,
    assert_no_gradient_is_lost,
    assert_rank_0_holds_the_result,
    assert_replays,
    assert_trained_as_one_process,
    uneven_trainings,
)
from .async_rules import (
    assert_messages,
    assert_others_went_on,
    assert_rule,
    assert_training_comes_from_messages,
)
from .fit_cases import TIME_FACTOR
from .summing import assert_arrays_not_pickled

pytestmark = [part("async_masters"), pytest.mark.mpi]

CASES = cases_by_ranks()


@points(0.5)
def test_gradients_reach_the_masters(run):
    """brings the workers' gradients into a master's weights"""
    launches = (run(ranks, CASES[ranks]).having(group=ONE_MASTER) for ranks in (2, 3, 4))
    # On some number of workers: code that fails on one of them alone is paid for the others.
    if not any(launch.holding(assert_gradients_reach_a_master) for launch in launches):
        for case, outcome in run(2, CASES[2]).having(group=ONE_MASTER):
            assert_gradients_reach_a_master(case, outcome)


@points(0.5, requires=test_gradients_reach_the_masters)
def test_new_values_reach_the_workers(run):
    """brings the masters' new values to the workers"""
    # The worker that is held cannot be through before the others have begun.
    for case, outcome in run(4, CASES[4]).having(purpose="slow worker"):
        assert_new_values_reach_the_workers(case, outcome)


@points(0.5, requires=test_gradients_reach_the_masters)
def test_no_gradient_of_one_worker_is_lost(run):
    """loses no gradient of a single worker"""
    for case, outcome in run(2, CASES[2]).having(group=ONE_MASTER):
        assert_no_gradient_is_lost(case, outcome)


@points(1, requires=test_gradients_reach_the_masters)
@pytest.mark.parametrize("ranks", [3, 4])
def test_no_gradient_of_several_workers_is_lost(run, ranks):
    """loses no gradient of several workers"""
    for case, outcome in run(ranks, CASES[ranks]).having(group=ONE_MASTER):
        assert_no_gradient_is_lost(case, outcome)


NO_GRADIENT_IS_LOST = (
    test_no_gradient_of_one_worker_is_lost,
    test_no_gradient_of_several_workers_is_lost,
)


@points(3.5, requires=NO_GRADIENT_IS_LOST)
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_one_master_steps_then_replies(run, ranks):
    """applies the gradients before it replies (one master)"""
    for case, outcome in run(ranks, CASES[ranks]).having(group=ONE_MASTER):
        assert_replays(case, outcome)


@points(2.5, requires=NO_GRADIENT_IS_LOST)
@pytest.mark.parametrize("ranks", [3, 4, 5])
def test_two_masters_step_then_reply(run, ranks):
    """applies the gradients before it replies (two masters)"""
    for case, outcome in run(ranks, CASES[ranks]).having(group=TWO_MASTERS):
        assert_replays(case, outcome)


@points(2, requires=NO_GRADIENT_IS_LOST)
@pytest.mark.parametrize("ranks", [3, 4, 5])
def test_process_0_ends_with_all_weights(run, ranks):
    """ends with all weights on rank 0"""
    for case, outcome in run(ranks, CASES[ranks]).having(group=TWO_MASTERS):
        assert_rank_0_holds_the_result(case, outcome, "weights")


@points(1.5, requires=NO_GRADIENT_IS_LOST)
@pytest.mark.parametrize("ranks", [3, 4, 5])
def test_process_0_ends_with_all_biases(run, ranks):
    """ends with all biases on rank 0"""
    for case, outcome in run(ranks, CASES[ranks]).having(group=TWO_MASTERS):
        assert_rank_0_holds_the_result(case, outcome, "biases")


@points(2, requires=NO_GRADIENT_IS_LOST)
@pytest.mark.parametrize("ranks", [4, 5])
def test_batches_that_do_not_divide(run, ranks):
    """shares out batches not divisible by the number of workers"""
    for case, outcome in uneven_trainings(run(ranks, CASES[ranks]).having(group=UNEVEN)):
        assert_batches(case, outcome)
        assert_no_gradient_is_lost(case, outcome)


@points(0.5, requires=NO_GRADIENT_IS_LOST)
@pytest.mark.parametrize("ranks", [8, 16])
def test_many_masters_and_workers(run, ranks):
    """works with many masters and workers (up to 16 ranks)"""
    for case, outcome in run(ranks, CASES[ranks]).having(group=MANY):
        assert_batches(case, outcome)
        assert_rank_0_holds_the_result(case, outcome)


@points(0.5, requires=NO_GRADIENT_IS_LOST)
def test_large_layers(run):
    """works with layers too large for MPI to buffer"""
    for case, outcome in run(4, CASES[4]).having(group=LARGE):
        assert_replays(case, outcome)


@points(2, requires=NO_GRADIENT_IS_LOST)
def test_one_master_serves_any_worker(run):
    """serves other workers while one computes (one master)"""
    for case, outcome in run(4, CASES[4]).having(purpose="slow worker"):
        assert_others_went_on(case, outcome)
        assert_batches(case, outcome)
        assert_no_gradient_is_lost(case, outcome)


@points(1, requires=NO_GRADIENT_IS_LOST)
def test_every_master_serves_any_worker(run):
    """serves other workers while one computes (two masters)"""
    for case, outcome in run(5, CASES[5]).having(purpose="slow worker"):
        assert_others_went_on(case, outcome)
        assert_batches(case, outcome)
        assert_no_gradient_is_lost(case, outcome)


@points(4, requires=test_gradients_reach_the_masters)
def test_nonblocking_calls(run):
    """sends and receives with non-blocking calls only"""

    def rule(case, outcome):
        # Many a starter lets fit end with a barrier; it carries no data.
        assert_only_nonblocking(outcome.trace, also={"Barrier"})

    assert_rule(run, CASES, rule)


@points(3.5, requires=test_gradients_reach_the_masters)
def test_buffers_not_pickles(run):
    """sends arrays as buffers, not pickled"""
    assert_rule(run, CASES, lambda case, outcome: assert_arrays_not_pickled(outcome.trace))


@points(2.5, requires=test_gradients_reach_the_masters)
def test_every_request_is_completed(run):
    """completes every request"""
    assert_rule(run, CASES, lambda case, outcome: assert_requests_completed(outcome.trace))


@points(0.5, requires=NO_GRADIENT_IS_LOST)
def test_every_layer_belongs_to_one_master(run):
    """sends each layer's gradients to its one master"""
    for case, outcome in run(4, CASES[4]).having(group=LARGE):
        assert_messages(case, outcome)
    assert_training_comes_from_messages(run, CASES)


@points(0.5, requires=test_one_master_steps_then_replies)
@pytest.mark.parametrize("ranks", [3, 5])
def test_works_when_no_message_is_buffered(run, ranks):
    """works without message buffering"""
    for case, outcome in run(ranks, CASES[ranks]).having(group=UNBUFFERED):
        assert_rank_0_holds_the_result(case, outcome)


@points(0.5, requires=test_two_masters_step_then_reply)
def test_works_as_a_program_of_its_own(run):
    """works as a standalone program"""
    for case, outcome in run(4, standalone_cases(), standalone=True):
        assert_batches(case, outcome)
        assert_replays(case, outcome)


@points(0.5, requires=test_no_gradient_of_one_worker_is_lost)
def test_keeps_up_with_serial_training(run):
    """takes at most 15x the time of serial training"""
    assert_time_ratio(
        lambda attempt: run(2, timing_cases(attempt) if attempt else CASES[2]),
        check=same_failures_as(run(2, CASES[2]), assert_batches, assert_trained_as_one_process),
        factor=TIME_FACTOR,
        what="a fit on 2 ranks, 12 batches on layers 784-128-64-10,",
        yardstick="serial training on the same batches",
    )

"""Asynchronous training: workers compute gradients, masters own the layers and step them.

No two runs have to go the same way. What the workers' forward passes saw tells in which order the
gradients were applied; every step in that order is then computed again and compared.
"""

import pytest

from grader.api import (
    assert_only_nonblocking,
    assert_requests_completed,
    assert_time_ratio,
    case_context,
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
    assert_process_0_holds_the_result,
    assert_replays,
    assert_trained_as_one_process,
    uneven_trainings,
)
from .async_rules import (
    assert_messages,
    assert_others_went_on,
    assert_training_comes_from_messages,
    trainings,
)
from .fit_cases import TIME_FACTOR
from .summing import assert_arrays_not_pickled

pytestmark = [part("async_masters"), pytest.mark.mpi]

CASES = cases_by_ranks()


@points(0.5)
def test_gradients_reach_the_masters(run):
    """What a master holds changes by the gradients of the workers' batches."""
    launches = (run(ranks, CASES[ranks]).having(group=ONE_MASTER) for ranks in (2, 3, 4))
    # On some number of workers: who fails on one of them alone is paid for the others.
    if not any(launch.holding(assert_gradients_reach_a_master) for launch in launches):
        for case, outcome in run(2, CASES[2]).having(group=ONE_MASTER):
            assert_gradients_reach_a_master(case, outcome)


@points(0.5, requires=test_gradients_reach_the_masters)
def test_new_values_reach_the_workers(run):
    """After each batch, a worker goes on with what its masters hold."""
    # The worker that is held cannot be through before the others have begun.
    for case, outcome in run(4, CASES[4]).having(purpose="slow worker"):
        assert_new_values_reach_the_workers(case, outcome)


@points(0.5, requires=test_gradients_reach_the_masters)
def test_no_gradient_of_one_worker_is_lost(run):
    """With 1 worker, a master ends with the start minus learning_rate times all gradients."""
    for case, outcome in run(2, CASES[2]).having(group=ONE_MASTER):
        assert_no_gradient_is_lost(case, outcome)


@points(1, requires=test_gradients_reach_the_masters)
@pytest.mark.parametrize("ranks", [3, 4])
def test_no_gradient_of_several_workers_is_lost(run, ranks):
    """With 2 or 3 workers, a master ends with the start minus learning_rate times all gradients."""
    for case, outcome in run(ranks, CASES[ranks]).having(group=ONE_MASTER):
        assert_no_gradient_is_lost(case, outcome)


NO_GRADIENT_IS_LOST = (
    test_no_gradient_of_one_worker_is_lost,
    test_no_gradient_of_several_workers_is_lost,
)


@points(3.5, requires=NO_GRADIENT_IS_LOST)
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_one_master_steps_then_replies(run, ranks):
    """One master applies one worker's gradients, replies to that worker, and goes on."""
    for case, outcome in run(ranks, CASES[ranks]).having(group=ONE_MASTER):
        assert_replays(case, outcome)


@points(2.5, requires=NO_GRADIENT_IS_LOST)
@pytest.mark.parametrize("ranks", [3, 4, 5])
def test_two_masters_step_then_reply(run, ranks):
    """Each of two masters applies one worker's gradients, replies to that worker, and goes on."""
    for case, outcome in run(ranks, CASES[ranks]).having(group=TWO_MASTERS):
        assert_replays(case, outcome)


@points(2, requires=NO_GRADIENT_IS_LOST)
@pytest.mark.parametrize("ranks", [3, 4, 5])
def test_process_0_ends_with_all_weights(run, ranks):
    """At the end process 0 holds the last weights of all masters' layers."""
    for case, outcome in run(ranks, CASES[ranks]).having(group=TWO_MASTERS):
        assert_process_0_holds_the_result(case, outcome, "weights")


@points(1.5, requires=NO_GRADIENT_IS_LOST)
@pytest.mark.parametrize("ranks", [3, 4, 5])
def test_process_0_ends_with_all_biases(run, ranks):
    """At the end process 0 holds the last biases of all masters' layers."""
    for case, outcome in run(ranks, CASES[ranks]).having(group=TWO_MASTERS):
        assert_process_0_holds_the_result(case, outcome, "biases")


@points(2, requires=NO_GRADIENT_IS_LOST)
@pytest.mark.parametrize("ranks", [4, 5])
def test_batches_that_do_not_divide(run, ranks):
    """The workers together train on number_of_batches batches, also where these do not divide."""
    for case, outcome in uneven_trainings(run(ranks, CASES[ranks]).having(group=UNEVEN)):
        assert_batches(case, outcome)
        assert_no_gradient_is_lost(case, outcome)


@points(0.5, requires=NO_GRADIENT_IS_LOST)
@pytest.mark.parametrize("ranks", [8, 16])
def test_many_masters_and_workers(run, ranks):
    """Training is right with up to 16 processes, 4 masters, and more workers than batches."""
    for case, outcome in run(ranks, CASES[ranks]).having(group=MANY):
        assert_batches(case, outcome)
        assert_process_0_holds_the_result(case, outcome)


@points(0.5, requires=NO_GRADIENT_IS_LOST)
def test_large_layers(run):
    """Training is right with layers that are longer than what MPI stores of its own accord."""
    for case, outcome in run(4, CASES[4]).having(group=LARGE):
        assert_replays(case, outcome)


@points(2, requires=NO_GRADIENT_IS_LOST)
def test_one_master_serves_any_worker(run):
    """While one worker computes, one master serves the others."""
    for case, outcome in run(4, CASES[4]).having(purpose="slow worker"):
        assert_others_went_on(case, outcome)
        assert_batches(case, outcome)
        assert_no_gradient_is_lost(case, outcome)


@points(1, requires=NO_GRADIENT_IS_LOST)
def test_every_master_serves_any_worker(run):
    """While one worker computes, every master serves the others."""
    for case, outcome in run(5, CASES[5]).having(purpose="slow worker"):
        assert_others_went_on(case, outcome)
        assert_batches(case, outcome)
        assert_no_gradient_is_lost(case, outcome)


@points(4, requires=test_gradients_reach_the_masters)
def test_nonblocking_calls(run):
    """All messages are non-blocking point-to-point calls; only waiting for them may block."""
    for case, outcome in trainings(run, CASES):
        with case_context(case, outcome):
            # Many a starter lets fit end with a barrier; it carries no data.
            assert_only_nonblocking(outcome.trace, also={"Barrier"})


@points(3.5, requires=test_gradients_reach_the_masters)
def test_buffers_not_pickles(run):
    """Arrays travel in upper-case calls, which send their memory and pickle nothing."""
    for case, outcome in trainings(run, CASES):
        with case_context(case, outcome):
            assert_arrays_not_pickled(outcome.trace)


@points(2.5, requires=test_gradients_reach_the_masters)
def test_every_request_is_completed(run):
    """Every request is completed by a wait or a successful test."""
    for case, outcome in trainings(run, CASES):
        with case_context(case, outcome):
            assert_requests_completed(outcome.trace)


@points(0.5, requires=NO_GRADIENT_IS_LOST)
def test_every_layer_belongs_to_one_master(run):
    """A batch's gradients of a layer go to its one master, which sends the new values back."""
    for case, outcome in run(4, CASES[4]).having(group=LARGE):
        assert_messages(case, outcome)
    assert_training_comes_from_messages(run, CASES)


@points(0.5, requires=test_one_master_steps_then_replies)
@pytest.mark.parametrize("ranks", [3, 5])
def test_works_when_no_message_is_buffered(run, ranks):
    """Training is right even if every send waits until its receive is posted."""
    for case, outcome in run(ranks, CASES[ranks]).having(group=UNBUFFERED):
        assert_process_0_holds_the_result(case, outcome)


@points(0.5, requires=test_two_masters_step_then_reply)
def test_works_as_a_program_of_its_own(run):
    """With the real MPI.Init and MPI.Finalize, 2 masters and 2 workers train as before."""
    for case, outcome in run(4, standalone_cases(), standalone=True):
        assert_batches(case, outcome)
        assert_replays(case, outcome)


@points(0.5, requires=test_no_gradient_of_one_worker_is_lost)
def test_keeps_up_with_serial_training(run):
    """With 1 master and 1 worker, training takes at most 15 times as long as serial training."""
    assert_time_ratio(
        lambda attempt: run(2, timing_cases(attempt) if attempt else CASES[2]),
        check=same_failures_as(run(2, CASES[2]), assert_batches, assert_trained_as_one_process),
        factor=TIME_FACTOR,
        what="a fit on 2 ranks, 12 batches on layers 784-128-64-10,",
        yardstick="serial training on the same batches",
    )

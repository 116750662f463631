"""Synchronous training: the student's own ring all-reduce sums the gradients of a step."""

import pytest

from grader.api import (
    assert_one_neighbour,
    assert_only_point_to_point,
    assert_requests_completed,
    assert_time_ratio,
    case_context,
    part,
    points,
    same_failures_as,
)

from .fit_cases import TIME_FACTOR
from .summing import (
    assert_arrays_not_pickled,
    assert_messages_carry_gradients,
    assert_ring_traffic,
)
from .sync_cases import (
    FEW_RANKS,
    FIRST_STEP,
    MANY_RANKS,
    SEVERAL_EPOCHS,
    SEVERAL_STEPS,
    STEPPING_RANKS,
    UNBUFFERED,
    assert_batches,
    assert_batches_wherever_trained,
    assert_every_process_has_all_gradients,
    assert_gradients_come_together_somewhere,
    assert_trained_as_one_process,
    cases_by_ranks,
    standalone_cases,
    timing_cases,
    trainings,
)
from .sync_proof import assert_gradients_come_from_messages

pytestmark = [part("sync_ring"), pytest.mark.mpi]

FILE = "sync_network.py"
CASES = cases_by_ranks(FILE, has_messages=True)


@points(2)
def test_gradients_travel_point_to_point(run):
    """The gradients travel in point-to-point messages: altering these spoils the training."""
    assert_gradients_come_together_somewhere(run, CASES)
    for case, outcome in trainings(run, CASES):
        with case_context(case, outcome):
            assert_messages_carry_gradients(case, outcome)
    assert_gradients_come_from_messages(run, CASES)


@points(1, requires=test_gradients_travel_point_to_point)
def test_gradients_of_all_processes_come_together(run):
    """In the first step, some process uses the gradients of all processes, in equal parts."""
    assert_gradients_come_together_somewhere(run, CASES)


@points(1.5, requires=test_gradients_travel_point_to_point)
@pytest.mark.parametrize("ranks", FEW_RANKS)
def test_every_process_gets_all_gradients(run, ranks):
    """In the first step, every array of every process uses the gradients of all, in equal parts."""
    for case, outcome in run(ranks, CASES[ranks]).having(group=FIRST_STEP):
        assert_every_process_has_all_gradients(case, outcome)


@points(0.5, requires=test_gradients_travel_point_to_point)
@pytest.mark.parametrize("ranks", FEW_RANKS)
def test_process_0_takes_the_summed_step(run, ranks):
    """After the first step, process 0 holds what serial training on all batches gives."""
    for case, outcome in run(ranks, CASES[ranks]).having(group=FIRST_STEP):
        assert_trained_as_one_process(case, outcome, only_process_0=True)


@points(1.5, requires=test_process_0_takes_the_summed_step)
@pytest.mark.parametrize("ranks", FEW_RANKS)
def test_every_process_takes_the_summed_step(run, ranks):
    """After the first step, every process holds what serial training on all batches gives."""
    for case, outcome in run(ranks, CASES[ranks]).having(group=FIRST_STEP):
        assert_trained_as_one_process(case, outcome)


@points(1, requires=test_every_process_takes_the_summed_step)
@pytest.mark.parametrize("ranks", STEPPING_RANKS)
def test_several_steps(run, ranks):
    """After several steps, every process still holds what serial training gives."""
    for case, outcome in run(ranks, CASES[ranks]).having(group=SEVERAL_STEPS):
        assert_trained_as_one_process(case, outcome)


@points(1, requires=test_every_process_takes_the_summed_step)
@pytest.mark.parametrize("ranks", FEW_RANKS)
def test_several_epochs(run, ranks):
    """After several epochs, every process still holds what serial training gives."""
    for case, outcome in run(ranks, CASES[ranks]).having(group=SEVERAL_EPOCHS):
        assert_trained_as_one_process(case, outcome)


@points(0.5, requires=test_every_process_takes_the_summed_step)
@pytest.mark.parametrize("ranks", MANY_RANKS)
def test_many_processes(run, ranks):
    """On 5, 8 and 16 processes, training is right as well."""
    for case, outcome in run(ranks, CASES[ranks]).having(group=FIRST_STEP):
        assert_trained_as_one_process(case, outcome)


@points(0.5, requires=test_gradients_travel_point_to_point)
def test_one_process(run):
    """On one process, training is right as well."""
    for case, outcome in run(1, CASES[1]):
        assert_trained_as_one_process(case, outcome)


@points(0.5)
@pytest.mark.parametrize("ranks", FEW_RANKS)
def test_batches_are_shared_out(run, ranks):
    """Each process trains on number_of_batches batches of mini_batch_size // n rows an epoch."""
    assert_batches_wherever_trained(run(ranks, CASES[ranks]))


@points(0.5, requires=test_every_process_takes_the_summed_step)
@pytest.mark.parametrize("ranks", FEW_RANKS)
def test_works_when_no_message_is_buffered(run, ranks):
    """Training is right even if every send waits until its receive is posted."""
    for case, outcome in run(ranks, CASES[ranks]).having(group=UNBUFFERED):
        assert_trained_as_one_process(case, outcome)


@points(0.5, requires=test_gradients_travel_point_to_point)
def test_nothing_but_point_to_point_calls(run):
    """No collective of any kind is called beside the messages."""
    for case, outcome in trainings(run, CASES):
        with case_context(case, outcome):
            assert_only_point_to_point(outcome.trace)


@points(1.5, requires=test_gradients_travel_point_to_point, own="ring_allreduce")
def test_gradients_travel_around_a_ring(run):
    """A training sends what ring all-reduces of its gradients send, to one neighbour."""
    for case, outcome in trainings(run, CASES):
        with case_context(case, outcome):
            assert_one_neighbour(outcome.trace)
            assert_ring_traffic(case, outcome)


@points(0.5, requires=test_gradients_travel_point_to_point)
def test_buffers_not_pickles(run):
    """Arrays travel in upper-case calls, which send their memory and pickle nothing."""
    for case, outcome in trainings(run, CASES):
        with case_context(case, outcome):
            assert_arrays_not_pickled(outcome.trace)


@points(0.5, requires=test_gradients_travel_point_to_point)
def test_every_request_is_completed(run):
    """Every request is completed by a wait or a successful test."""
    for case, outcome in trainings(run, CASES):
        with case_context(case, outcome):
            assert_requests_completed(outcome.trace)


@points(1, requires=test_every_process_takes_the_summed_step)
def test_works_as_a_program_of_its_own(run):
    """With the real MPI.Init and MPI.Finalize, training on 3 processes is right as well."""
    for case, outcome in run(3, standalone_cases(FILE), standalone=True):
        assert_trained_as_one_process(case, outcome)


@points(0.5, requires=test_every_process_takes_the_summed_step)
def test_keeps_up_with_serial_training(run):
    """On 2 processes, training takes at most 15 times as long as serial training."""
    assert_time_ratio(
        lambda attempt: run(2, timing_cases(FILE, attempt) if attempt else CASES[2]),
        check=same_failures_as(run(2, CASES[2]), assert_batches, assert_trained_as_one_process),
        factor=TIME_FACTOR,
        what="a fit on 2 ranks, 12 batches on layers 784-128-64-10,",
        yardstick="serial training on the same batches",
    )

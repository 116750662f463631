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
    stage,
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
from .async_contents import assert_masters_own_layers
from .async_rules import (
    assert_gradients_matter,
    assert_messages,
    assert_new_values_matter,
    assert_others_went_on,
    assert_others_went_on_later,
    assert_rule,
    assert_small_trainings_replay,
    assert_trainings_are_sent,
    trainings,
)
from .async_stages import (
    asks_for_gradients,
    asks_for_or_sends_new_values,
    exchanges_every_batch,
    sends_gradients,
    shown,
)
from .fit_cases import TIME_FACTOR
from .summing import assert_arrays_not_pickled

pytestmark = [part("async_masters"), pytest.mark.mpi]

CASES = cases_by_ranks()


def assert_many_went_on(run):
    """Assert the same of one master and seven workers, where that many finish a training."""
    for case, outcome in run(8, CASES[8]).having(purpose="slow worker").ended_in_time():
        assert_others_went_on(case, outcome)


@points(0.25)
def test_gradients_reach_the_masters(run):
    """applies the workers' gradients to a master's weights"""
    # In any training: what fails in others is paid by the tests about these.
    if not any(trainings(run, CASES)):
        for case, outcome in run(2, CASES[2]).having(group=ONE_MASTER):
            assert_gradients_reach_a_master(case, outcome)
    assert_trainings_are_sent(run, CASES)
    assert_gradients_matter(run, CASES)


SOME_GRADIENTS = test_gradients_reach_the_masters


@points(0.25, requires=SOME_GRADIENTS)
def test_new_values_reach_the_workers(run):
    """sends the masters' new values to the workers"""
    # The worker that is held cannot be through before the others have begun.
    launch = run(4, CASES[4]).having(purpose="slow worker")
    if not launch.holding(assert_new_values_reach_the_workers):
        for case, outcome in launch:
            assert_new_values_reach_the_workers(case, outcome)


@points(0.25, requires=SOME_GRADIENTS)
def test_no_gradient_of_one_worker_is_lost(run):
    """loses no gradient of a single worker"""
    for case, outcome in run(2, CASES[2]).having(group=ONE_MASTER):
        assert_no_gradient_is_lost(case, outcome)


@points(0.5, requires=SOME_GRADIENTS)
@pytest.mark.parametrize("ranks", [3, 4])
def test_no_gradient_of_several_workers_is_lost(run, ranks):
    """loses no gradient of several workers"""
    for case, outcome in run(ranks, CASES[ranks]).having(group=ONE_MASTER):
        assert_no_gradient_is_lost(case, outcome)


@points(0.5, requires=SOME_GRADIENTS)
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_one_master_steps_then_replies(run, ranks):
    """applies the gradients before it replies (one master)"""
    for case, outcome in run(ranks, CASES[ranks]).having(group=ONE_MASTER):
        assert_replays(case, outcome)
    assert_small_trainings_replay(run, CASES)


@points(0.5, requires=SOME_GRADIENTS)
@pytest.mark.parametrize("ranks", [3, 4, 5])
def test_two_masters_step_then_reply(run, ranks):
    """applies the gradients before it replies (two masters)"""
    for case, outcome in run(ranks, CASES[ranks]).having(group=TWO_MASTERS):
        assert_replays(case, outcome)
        assert_masters_own_layers(case, outcome)
    assert_small_trainings_replay(run, CASES)


@points(1.25, requires=test_two_masters_step_then_reply)
def test_large_layers(run):
    """applies the gradients before it replies (large layers)"""
    for case, outcome in run(4, CASES[4]).having(group=LARGE):
        assert_replays(case, outcome)


@points(1.75, requires=SOME_GRADIENTS)
@pytest.mark.parametrize("ranks", [3, 4, 5])
def test_process_0_ends_with_all_weights(run, ranks):
    """ends with all weights on rank 0"""
    for case, outcome in run(ranks, CASES[ranks]).having(group=TWO_MASTERS):
        assert_rank_0_holds_the_result(case, outcome, "weights")


@points(1.25, requires=SOME_GRADIENTS)
@pytest.mark.parametrize("ranks", [3, 4, 5])
def test_process_0_ends_with_all_biases(run, ranks):
    """ends with all biases on rank 0"""
    for case, outcome in run(ranks, CASES[ranks]).having(group=TWO_MASTERS):
        assert_rank_0_holds_the_result(case, outcome, "biases")


@points(1.5, requires=SOME_GRADIENTS)
@pytest.mark.parametrize("ranks", [4, 5])
def test_batches_that_do_not_divide(run, ranks):
    """shares out batches that do not divide evenly among workers"""
    for case, outcome in uneven_trainings(run(ranks, CASES[ranks]).having(group=UNEVEN)):
        assert_batches(case, outcome)


@points(2, requires=SOME_GRADIENTS)
def test_one_master_serves_any_worker(run):
    """serves other workers while one computes (one master)"""
    for case, outcome in run(4, CASES[4]).having(purpose="slow worker"):
        assert_gradients_reach_a_master(case, outcome)
        assert_others_went_on(case, outcome)
    assert_others_went_on_later(run(4, CASES[4]))
    assert_many_went_on(run)


@points(2.25, requires=test_two_masters_step_then_reply)
def test_every_master_serves_any_worker(run):
    """serves other workers while one computes (two masters)"""
    for case, outcome in run(5, CASES[5]).having(purpose="slow worker"):
        assert_gradients_reach_a_master(case, outcome)
        assert_others_went_on(case, outcome)
        assert_replays(case, outcome)
    assert_others_went_on_later(run(5, CASES[5]))


@points(5.25, requires=test_two_masters_step_then_reply)
@pytest.mark.parametrize("ranks", [8, 16])
def test_many_masters_and_workers(run, ranks):
    """serves any worker, with large layers, on up to 16 ranks"""
    # What fails on few ranks is not tried on many.
    for case, outcome in run(4, CASES[4]).having(purpose="slow worker"):
        assert_others_went_on(case, outcome)
    assert_others_went_on_later(run(4, CASES[4]))
    assert_many_went_on(run)
    for case, outcome in run(4, CASES[4]).having(group=LARGE):
        assert_replays(case, outcome)
    # A result that is missing on rank 0 with few ranks is paid by the tests about it.
    few = run(4, CASES[4]).having(group=TWO_MASTERS)
    gathers = any(few.holding(assert_rank_0_holds_the_result))
    for case, outcome in run(ranks, CASES[ranks]).having(group=MANY):
        assert_batches(case, outcome)
        assert_replays(case, outcome)
        if case.num_masters > 1:
            assert_masters_own_layers(case, outcome)
        if gathers:
            assert_rank_0_holds_the_result(case, outcome)


@points(4.5, requires=SOME_GRADIENTS)
def test_nonblocking_calls(run):
    """sends and receives with non-blocking calls only"""

    def rule(case, outcome):
        # Many a starter lets fit end with a barrier; it carries no data.
        assert_only_nonblocking(outcome.trace, also={"Barrier"})

    assert_rule(run, CASES, rule)


@points(4, requires=SOME_GRADIENTS)
def test_buffers_not_pickles(run):
    """sends arrays as buffers, not pickled"""
    assert_rule(run, CASES, lambda case, outcome: assert_arrays_not_pickled(outcome.trace))


@points(2, requires=SOME_GRADIENTS)
def test_every_request_is_completed(run):
    """completes every request"""
    assert_rule(run, CASES, lambda case, outcome: assert_requests_completed(outcome.trace))


@points(0.25, requires=test_two_masters_step_then_reply)
def test_every_layer_belongs_to_one_master(run):
    """sends each layer's gradients to exactly one master"""
    for case, outcome in run(4, CASES[4]).having(group=LARGE):
        assert_messages(case, outcome)
    assert_new_values_matter(run, CASES)


@points(1, requires=test_two_masters_step_then_reply)
@pytest.mark.parametrize("ranks", [3, 5])
def test_works_when_no_message_is_buffered(run, ranks):
    """works without message buffering"""
    for case, outcome in run(ranks, CASES[ranks]).having(group=UNBUFFERED):
        assert_rank_0_holds_the_result(case, outcome)


@points(0.25, requires=test_two_masters_step_then_reply)
def test_works_as_a_program_of_its_own(run):
    """works as a standalone program"""
    for case, outcome in run(4, standalone_cases(), standalone=True):
        assert_batches(case, outcome)
        assert_replays(case, outcome)


@points(0.5, requires=SOME_GRADIENTS)
def test_keeps_up_with_serial_training(run):
    """takes at most 15x the time of serial training"""
    assert_time_ratio(
        lambda attempt: run(2, timing_cases(attempt) if attempt else CASES[2]),
        check=same_failures_as(run(2, CASES[2]), assert_batches, assert_trained_as_one_process),
        factor=TIME_FACTOR,
        what="a fit on 2 ranks, 12 batches on layers 784-128-64-10,",
        yardstick="serial training on the same batches",
    )


# What trainings that came to no end show.


@stage(3)
def test_masters_ask_for_gradients(run):
    """waits for gradients on a master rank"""
    shown(run, CASES, asks_for_gradients)


@stage(7.5)
def test_workers_send_gradients(run):
    """sends the gradients of whole layers to the master"""
    shown(run, CASES, sends_gradients)


@stage(12.5)
def test_new_values_are_expected(run):
    """sends gradients, and requests or sends new values"""
    shown(run, CASES, sends_gradients, asks_for_or_sends_new_values)


@stage(17)
def test_every_batch_is_exchanged(run):
    """exchanges every batch, at least half of them correctly"""
    shown(run, CASES, sends_gradients, exchanges_every_batch)

"""Training without a server: all ranks average their gradients and take the same step."""

from functools import partial

import pytest

from grader.suite.marks import part, points
from grader.suite.timing import assert_time_ratio

from .origins import assert_models_come_from_messages
from .sgd_cases import (
    assert_gradients_sent,
    assert_shared_out,
    assert_trained,
    cases_of,
    num_steps_of,
    timing_cases,
)

pytestmark = [part("serverless"), pytest.mark.mpi]

FILE = "dist_sgd_serverless.py"
CASES = cases_of(FILE, {1: 100, 2: 100, 4: 200, 5: 100, 10: 100}, is_timed=True)
SEVERAL_RANKS = [ranks for ranks in CASES if ranks > 1]
ALTERED_RANKS = 4


@points(15)
@pytest.mark.parametrize("ranks", CASES)
def test_every_rank_ends_as_centralized_training_does(run, ranks):
    """On every rank, each step leads where centralized training on the same batch would."""
    for case, outcome in run(ranks, CASES[ranks]).having(purpose="values"):
        assert_trained(case, outcome, computing=range(ranks), holders=range(ranks))


@points(4)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_each_rank_takes_its_slice_of_each_batch(run, ranks):
    """Each rank computes the gradient of its own int(batch / size) examples of each batch."""
    for case, outcome in run(ranks, CASES[ranks]).having(purpose="values"):
        assert_shared_out(case, outcome, computing=range(ranks))


@points(3, requires=test_every_rank_ends_as_centralized_training_does)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_gradients_meet_in_every_step(run, ranks):
    """In every step each rank gives the others its gradients."""
    for case, outcome in run(ranks, CASES[ranks]).having(purpose="values"):
        assert_gradients_sent(case, outcome, range(ranks))
    if ranks == ALTERED_RANKS:
        assert_models_come_from_messages(
            run,
            CASES[ranks],
            ranks,
            senders=range(ranks),
            num_times=num_steps_of(CASES[ranks][0]),
            check=partial(assert_trained, computing=range(ranks), holders=range(ranks)),
        )


@points(2, requires=test_every_rank_ends_as_centralized_training_does)
def test_keeps_up_with_centralized_training(run):
    """On 2 ranks the script takes no more than a small multiple of the time of one process."""
    assert_time_ratio(
        lambda attempt: run(2, tuple(timing_cases(FILE, attempt)) if attempt else CASES[2]),
        check=lambda case, outcome: assert_shared_out(case, outcome, range(2)),
        factor=10,
        what="the script on 2 ranks, 3 batches,",
        yardstick="centralized training on as many batches",
    )


@points(1, requires=test_every_rank_ends_as_centralized_training_does)
def test_works_as_a_program_of_its_own(run):
    """With MPI left to the script altogether, 2 ranks train as they did before."""
    for case, outcome in run(2, CASES[2][:1], genuine=True):
        assert_trained(case, outcome, range(2), range(2))

"""A parameter server: rank 0 sends data and model, the workers send losses and gradients."""

import pytest

from grader.suite.marks import part, points
from grader.suite.wording import case_context

from .gathering import assert_star
from .origins import ALTERED_RANKS, assert_models_come_from_messages
from .sgd_cases import (
    assert_gradients_sent,
    assert_sent_once,
    assert_served,
    assert_shared_out,
    assert_trained,
    cases_of,
    num_steps_of,
)
from .training_cases import Training

pytestmark = [part("param_server"), pytest.mark.mpi]

FILE = "dist_sgd_param_server.py"
CASES = cases_of(FILE, {2: 100, 3: 200, 5: 100}, is_timed=False)
# A launch of its own, and the last: what hangs there has been judged in all else.
UNBUFFERED = (Training("train", file=FILE, num_training=100, synchronous_sends=True),)


def _assert_training_comes_from_messages(run, senders):
    ranks, cases = ALTERED_RANKS, CASES[ALTERED_RANKS]
    num_times = num_steps_of(cases[0]) * (ranks - 1 if 0 in senders else 1)

    def check(case, outcome):
        assert_trained(case, outcome, computing=range(1, ranks), holders=[0])

    assert_models_come_from_messages(run, cases, ranks, senders, num_times, check)


@points(10)
@pytest.mark.parametrize("ranks", CASES)
def test_server_ends_as_centralized_training_does(run, ranks):
    """Each step of the server leads where centralized training on the same batch would."""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_trained(case, outcome, computing=range(1, ranks), holders=[0])


@points(3)
@pytest.mark.parametrize("ranks", CASES)
def test_each_worker_computes_its_share_of_each_batch(run, ranks):
    """The workers compute the gradients, each of its own int(batch / workers) examples."""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_shared_out(case, outcome, computing=range(1, ranks))


@points(4, requires=test_server_ends_as_centralized_training_does)
@pytest.mark.parametrize("ranks", CASES)
def test_server_gives_out_data_and_model(run, ranks):
    """The workers get their examples, and the model in every step, from the server."""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_served(case, outcome)
    if ranks == ALTERED_RANKS:
        _assert_training_comes_from_messages(run, [0])


@points(2, requires=test_server_ends_as_centralized_training_does)
@pytest.mark.parametrize("ranks", CASES)
def test_workers_send_their_gradients_in_every_step(run, ranks):
    """In every step each worker gives a model's worth of gradients away."""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_gradients_sent(case, outcome, range(1, ranks))
    if ranks == ALTERED_RANKS:
        _assert_training_comes_from_messages(run, range(1, ranks))


@points(2, requires=test_workers_send_their_gradients_in_every_step)
@pytest.mark.parametrize("ranks", [ranks for ranks in CASES if ranks > 2])
def test_everything_goes_by_way_of_the_server(run, ranks):
    """Workers talk with the server only."""
    for case, outcome in run(ranks, CASES[ranks]):
        with case_context(case, outcome):
            assert_star(outcome.trace)


@points(2, requires=test_workers_send_their_gradients_in_every_step)
@pytest.mark.parametrize("ranks", CASES)
def test_a_step_sends_gradients_once(run, ranks):
    """In a step a worker gives its gradients away once, and little besides."""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_sent_once(case, outcome)


@points(1, requires=test_server_ends_as_centralized_training_does)
def test_works_when_no_message_is_buffered(run):
    """The model is right even if every send has to wait until its receive is posted."""
    for case, outcome in run(3, UNBUFFERED):
        assert_trained(case, outcome, computing=range(1, 3), holders=[0])


@points(1, requires=test_server_ends_as_centralized_training_does)
def test_works_as_a_program_of_its_own(run):
    """With MPI left to the script altogether, server and worker train as they did before."""
    for case, outcome in run(2, CASES[2], genuine=True):
        assert_trained(case, outcome, computing=[1], holders=[0])

"""Federated averaging of clients with different numbers of examples, mostly of a few classes."""

import pytest

from grader.suite.marks import part, points

from .fedavg_cases import (
    ENTRIES,
    Aggregation,
    assert_averaged,
    assert_figure,
    assert_models_exchanged,
    assert_sent_once,
    assert_served,
    assert_trained_locally,
    assert_weighted_means,
    cases_of,
    unbuffered,
)
from .origins import ALTERED_RANKS, assert_models_come_from_messages
from .rounds import NUM_ROUNDS

pytestmark = [part("fedavg_noniid"), pytest.mark.mpi]

CASES = cases_of({2: (33,), 3: (65, 14), 5: (12, 40, 20, 33)}, is_skewed=True)
AGGREGATIONS = (
    Aggregation("aggregate", num_samples=(5,)),
    Aggregation("aggregate", num_samples=(12, 70, 33)),
)

PARAMETERS = [key for key in ENTRIES if key.endswith(("weight", "bias"))]


@points(8)
@pytest.mark.parametrize("ranks", CASES)
def test_server_ends_as_serial_fedavg_does(run, ranks):
    """Every round ends with the clients' mean model, weighted by their numbers of examples."""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_averaged(case, outcome)


@points(2)
@pytest.mark.parametrize("ranks", CASES)
def test_clients_train_on_all_of_their_examples(run, ranks):
    """In each of 5 rounds each client trains once on all of its examples, in batches of 32."""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_trained_locally(case, outcome)


@points(2, requires=test_server_ends_as_serial_fedavg_does)
@pytest.mark.parametrize("ranks", CASES)
def test_server_gives_out_data_and_model(run, ranks):
    """Each client gets its examples once, and the model in every round, from the server."""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_served(case, outcome)
    if ranks == ALTERED_RANKS:
        num_models = NUM_ROUNDS * (ranks - 1)
        assert_models_come_from_messages(run, CASES[ranks], ranks, [0], num_models, assert_averaged)


@points(1, requires=test_server_ends_as_serial_fedavg_does)
@pytest.mark.parametrize("ranks", CASES)
def test_models_go_by_way_of_the_server(run, ranks):
    """In every round each client sends its model, and clients talk with the server only."""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_models_exchanged(case, outcome)
    if ranks == ALTERED_RANKS:
        assert_models_come_from_messages(
            run, CASES[ranks], ranks, range(1, ranks), NUM_ROUNDS, assert_averaged
        )


@points(1, requires=test_models_go_by_way_of_the_server)
@pytest.mark.parametrize("ranks", CASES)
def test_a_round_sends_each_model_once(run, ranks):
    """In a round a client gives its model away once, and little besides."""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_sent_once(case, outcome)


@points(1)
def test_the_label_distribution_is_drawn(run):
    """After the run there is a figure of the clients' labels under figures/."""
    for case, outcome in run(3, CASES[3]):
        assert_figure(case, outcome)


@points(4)
def test_aggregate_weighs_by_examples(run):
    """Aggregator.aggregate gives client k the weight n_k / n."""
    for case, outcome in run(1, AGGREGATIONS):
        assert_weighted_means(case, outcome, PARAMETERS)


@points(1, requires=test_server_ends_as_serial_fedavg_does)
def test_works_when_no_message_is_buffered(run):
    """The model is right even if every send has to wait until its receive is posted."""
    for case, outcome in run(3, unbuffered(CASES[3])):
        assert_averaged(case, outcome)

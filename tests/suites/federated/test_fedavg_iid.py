"""Federated averaging of clients that have equally many examples, of all classes."""

import pytest

from grader.suite.marks import part, points

from .fedavg_cases import (
    ENTRIES,
    Aggregation,
    assert_averaged,
    assert_counter_kept,
    assert_figure,
    assert_model_kept,
    assert_models_exchanged,
    assert_served,
    assert_trained_locally,
    assert_weighted_means,
    cases_of,
    unbuffered,
)
from .origins import ALTERED_RANKS, assert_models_come_from_messages
from .rounds import NUM_ROUNDS

pytestmark = [part("fedavg_iid"), pytest.mark.mpi]

CASES = cases_of({2: (40,), 3: (34, 34), 5: (20, 20, 20, 20)}, is_skewed=False)
AGGREGATIONS = (
    Aggregation("aggregate", num_samples=(20, 20, 20)),
    Aggregation("aggregate", num_samples=(20, 20, 20), has_counter=True),
)

PARAMETERS = [key for key in ENTRIES if key.endswith(("weight", "bias"))]
STATISTICS = [key for key in ENTRIES if "running" in key]


@points(4)
@pytest.mark.parametrize("ranks", CASES)
def test_server_ends_as_serial_fedavg_does(run, ranks):
    """Every round ends with the mean of the clients' models, and rank 0 holds the last one."""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_averaged(case, outcome)


@points(2)
@pytest.mark.parametrize("ranks", CASES)
def test_clients_train_on_all_of_their_examples(run, ranks):
    """In each of 5 rounds each client trains once on all of its examples, in batches of 32."""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_trained_locally(case, outcome)


@points(1, requires=test_server_ends_as_serial_fedavg_does)
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


@points(1)
def test_the_label_distribution_is_drawn(run):
    """After the run there is a figure of the clients' labels under figures/."""
    for case, outcome in run(3, CASES[3]):
        assert_figure(case, outcome)


@points(1)
def test_aggregate_averages_parameters(run):
    """Aggregator.aggregate returns each parameter's mean over the clients under its own key."""
    for case, outcome in run(1, AGGREGATIONS).having(has_counter=False):
        assert_weighted_means(case, outcome, PARAMETERS)


@points(1)
def test_aggregate_averages_buffers_of_floats(run):
    """Buffers of floating-point numbers, such as batch norm's, are averaged like parameters."""
    for case, outcome in run(1, AGGREGATIONS).having(has_counter=False):
        assert_weighted_means(case, outcome, STATISTICS)


@points(1)
def test_aggregate_keeps_whole_numbers(run):
    """A buffer of whole numbers, such as batch norm's counter, is not averaged."""
    for case, outcome in run(1, AGGREGATIONS).having(has_counter=True):
        assert_counter_kept(case, outcome)


@points(1)
def test_aggregator_takes_in_and_gives_out_the_model(run):
    """set_model_params changes the model that Aggregator holds; get_model_params returns it."""
    for case, outcome in run(1, AGGREGATIONS).having(has_counter=False):
        assert_model_kept(case, outcome)


@points(1, requires=test_server_ends_as_serial_fedavg_does)
def test_works_when_no_message_is_buffered(run):
    """The model is right even if every send has to wait until its receive is posted."""
    for case, outcome in run(3, unbuffered(CASES[3])):
        assert_averaged(case, outcome)


@points(1, requires=test_server_ends_as_serial_fedavg_does)
def test_works_as_a_program_of_its_own(run):
    """With MPI left to the script altogether, server and client train as they did before."""
    for case, outcome in run(2, CASES[2], genuine=True):
        assert_averaged(case, outcome)

"""Federated averaging of clients that have equally many examples, of all classes."""

import pytest

from grader.api import Launch, not_run, part, points, stage

from .aggregation import (
    PARAMETERS,
    STATISTICS,
    Aggregation,
    assert_counter_kept,
    assert_model_kept,
    assert_weighted_means,
)
from .answered import Check, Run, Runs, answered, assert_as_right_as, assert_ends_alike, begun
from .fedavg_cases import MORE_THAN_ALL, RoundChecks, assert_exchanged, assert_figure, cases_of
from .origins import Faults, drawn_run, faults_in

pytestmark = [part("fedavg_iid"), pytest.mark.mpi]

CASES = cases_of({3: (34, 34), 5: (33, 33, 33, 33)}, is_skewed=False)
ONE_CLIENT = cases_of({2: (40,)}, is_skewed=False)
AGGREGATIONS = (
    Aggregation("aggregate", subject="plain", num_samples=(20, 20, 20)),
    Aggregation("aggregate", subject="counter", num_samples=(20, 20, 20), has_counter=True),
)


@pytest.fixture(scope="module")
def checks() -> RoundChecks:
    """Return what is asked of a run."""
    return RoundChecks()


def runs_of(run: Run, *checks: Check) -> Runs:
    """Yield the runs with several clients. The checks must hold for the longer run."""
    return answered(run, CASES, alone=lambda: alone(run), checks=checks)


def alone(run: Run) -> Launch:
    """Return the run of the script as its own program."""
    return run(2, ONE_CLIENT[2], standalone=True)


def faults_of(run: Run, checks: RoundChecks) -> Faults:
    """Return what altered messages lead to on one of these numbers of ranks."""
    return faults_in(run, *drawn_run(runs_of(run)), checks.everything)


def assert_clients_matter(faults: Faults, checks: RoundChecks) -> None:
    """Assert that what the clients send changes the global model."""
    case, outcome = faults.case, faults.outcome
    faults.assert_some_matter(
        range(1, outcome.ranks),
        least=1,
        num_used=lambda: len(checks.ranks_used_by_others(case, outcome)),
    )
    faults.assert_contents(checks.assert_contents)


@points(0.5)
def test_aggregate_averages_parameters(run: Run) -> None:
    """averages the parameters in Aggregator.aggregate"""
    for case, outcome in run(1, AGGREGATIONS).having(has_counter=False):
        assert_weighted_means(case, outcome, PARAMETERS)


@points(0.5)
def test_aggregate_averages_buffers_of_floats(run: Run) -> None:
    """averages floating-point buffers in Aggregator.aggregate"""
    for case, outcome in run(1, AGGREGATIONS).having(has_counter=False):
        assert_weighted_means(case, outcome, STATISTICS)


@points(1.25)
def test_aggregate_keeps_whole_numbers(run: Run) -> None:
    """keeps whole-number entries in Aggregator.aggregate"""
    for case, outcome in run(1, AGGREGATIONS).having(has_counter=True):
        assert_counter_kept(case, outcome)


@points(1.5)
def test_aggregator_takes_in_and_gives_out_the_model(run: Run) -> None:
    """sets and returns the model's parameters in Aggregator"""
    for case, outcome in run(1, AGGREGATIONS).having(has_counter=False):
        assert_model_kept(case, outcome)


@points(0.5)
def test_training_uses_what_is_sent(run: Run, checks: RoundChecks) -> None:
    """trains with the models that are sent"""
    faults = faults_of(run, checks)
    assert_clients_matter(faults, checks)
    checks.global_model_used(faults.case, faults.outcome)
    checks.several_in_global_models(faults.case, faults.outcome)


@points(1.5, requires=test_training_uses_what_is_sent)
def test_training_is_that_of_fedavg(run: Run, checks: RoundChecks) -> None:
    """reaches the correct global model after every round"""
    for case, outcome in runs_of(run, *checks.everything):
        for check in checks.training:
            check(case, outcome)


@points(0.5, requires=test_training_uses_what_is_sent)
@pytest.mark.parametrize("ranks", CASES)
def test_trains_with_any_number_of_clients(run: Run, checks: RoundChecks, ranks: int) -> None:
    """works the same way with any number of clients"""
    assert_ends_alike(run, CASES, ranks, checks.everything)


@points(0.5, requires=test_training_uses_what_is_sent)
def test_clients_train_on_all_of_their_examples(run: Run, checks: RoundChecks) -> None:
    """trains each client on all of its part of the data"""
    for case, outcome in runs_of(run, *checks.everything):
        checks.own_examples(case, outcome)


@points(0.5, requires=test_training_uses_what_is_sent)
def test_trains_for_five_rounds(run: Run, checks: RoundChecks) -> None:
    """trains for 5 rounds of 1 epoch in batches of 32"""
    for case, outcome in runs_of(run, *checks.everything):
        checks.five_rounds(case, outcome)


@points(0.5, requires=test_training_uses_what_is_sent)
def test_local_steps_are_those_of_sgd(run: Run, checks: RoundChecks) -> None:
    """takes SGD steps with learning rate 0.01 and momentum 0.9"""
    for case, outcome in runs_of(run, *checks.everything):
        checks.local_sgd(case, outcome)


@points(1, requires=test_training_uses_what_is_sent)
def test_clients_begin_each_round_with_the_global_model(run: Run, checks: RoundChecks) -> None:
    """begins each round with the global model on all clients"""
    for case, outcome in runs_of(run):
        checks.common_starts(case, outcome)


@points(1.25, requires=test_training_uses_what_is_sent)
def test_global_model_is_the_mean_of_the_clients(run: Run, checks: RoundChecks) -> None:
    """averages all clients' models after each round"""
    for case, outcome in runs_of(run, *checks.everything):
        checks.equal_weights(case, outcome)


@points(1, requires=test_training_uses_what_is_sent)
def test_model_holds_the_global_model(run: Run, checks: RoundChecks) -> None:
    """leaves the last global model in `model` on rank 0"""
    for case, outcome in runs_of(run):
        checks.model_kept(case, outcome)


@points(1, requires=test_training_uses_what_is_sent)
def test_server_gives_out_data_and_model(run: Run, checks: RoundChecks) -> None:
    """sends the data and every model from the server"""
    for case, outcome in runs_of(run):
        checks.served(case, outcome)
    faults = faults_of(run, checks)
    num_clients = faults.outcome.ranks - 1
    faults.assert_each_matters([0], num_clients * checks.num_rounds(faults.case, faults.outcome))


@points(1, requires=test_training_uses_what_is_sent)
def test_models_go_by_way_of_the_server(run: Run, checks: RoundChecks) -> None:
    """sends each client's model every round, to the server only"""
    for case, outcome in runs_of(run):
        checks.models_exchanged(case, outcome)
    faults = faults_of(run, checks)
    if faults.holds_without(checks.means):
        clients = range(1, faults.outcome.ranks)
        faults.assert_each_matters(clients, checks.num_rounds(faults.case, faults.outcome))


@points(1, requires=test_training_uses_what_is_sent)
def test_the_label_distribution_is_drawn(run: Run) -> None:
    """saves a figure under figures/"""
    for case, outcome in runs_of(run):
        assert_figure(case, outcome)


@points(0.5, requires=test_training_uses_what_is_sent)
def test_works_when_no_message_is_buffered(run: Run, checks: RoundChecks) -> None:
    """works without message buffering"""
    for case, outcome in run(3, CASES[3]).having(synchronous_sends=True):
        assert_as_right_as(runs_of(run), case, outcome, checks.everything)


@points(0.5, requires=test_training_uses_what_is_sent)
def test_works_as_a_program_of_its_own(run: Run, checks: RoundChecks) -> None:
    """works as a standalone program"""
    for case, outcome in alone(run):
        assert_as_right_as(runs_of(run), case, outcome, checks.everything)


@stage(7)
def test_rounds_are_right(run: Run, checks: RoundChecks) -> None:
    """trains correctly until an error stops it"""
    for case, outcome in run(1, AGGREGATIONS).having(has_counter=False):
        assert_weighted_means(case, outcome, PARAMETERS)
    seen = begun(run, CASES, runs_of(run), MORE_THAN_ALL, checks.training)
    assert_clients_matter(faults_in(run, *seen, checks.everything), checks)


@stage(8)
def test_clients_keep_their_own_models(run: Run, checks: RoundChecks) -> None:
    """trains and averages, but ignores the global model"""
    faults = faults_of(run, checks)
    assert_clients_matter(faults, checks)
    for check in (checks.own_examples, checks.local_sgd, checks.means, checks.weights):
        check(faults.case, faults.outcome)


@stage(5)
def test_one_client_trains(run: Run, checks: RoundChecks) -> None:
    """trains correctly, but keeps only one client's model"""
    faults = faults_of(run, checks)
    assert_clients_matter(faults, checks)
    for check in (checks.own_examples, checks.local_sgd, checks.common_starts):
        check(faults.case, faults.outcome)


@stage(5)
def test_models_are_exchanged(run: Run) -> None:
    """averages correctly, and exchanges models in the first round"""
    for case, outcome in run(1, AGGREGATIONS).having(has_counter=False):
        assert_weighted_means(case, outcome, PARAMETERS)
    attempts = run(3, CASES[3]).attempts()
    if not attempts:
        not_run("needs a run of the script")
    for case, attempt in attempts:
        assert_exchanged(case, attempt)

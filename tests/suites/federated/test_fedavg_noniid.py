"""Federated averaging of clients with different numbers of examples, mostly of a few classes."""

import pytest

from grader.api import not_run, part, points, stage

from .aggregation import PARAMETERS, Aggregation, assert_weighted_means
from .answered import Check, Run, Runs, answered, assert_as_right_as, assert_ends_alike, begun
from .fedavg_cases import MORE_THAN_ALL, RoundChecks, assert_exchanged, assert_figure, cases_of
from .origins import Faults, drawn_run, faults_in

pytestmark = [part("fedavg_noniid"), pytest.mark.mpi]

CASES = cases_of({3: (65, 40), 5: (36, 40, 48, 33)}, is_skewed=True)
AGGREGATIONS = (
    Aggregation("aggregate", num_samples=(5,)),
    Aggregation("aggregate", num_samples=(12, 70, 33)),
)


@pytest.fixture(scope="module")
def checks() -> RoundChecks:
    """Return what is asked of a run."""
    return RoundChecks()


def runs_of(run: Run, *checks: Check) -> Runs:
    """Yield the runs with several clients. The checks must hold for the longer run."""
    return answered(run, CASES, checks=checks)


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


@points(4.25)
def test_aggregate_weighs_by_examples(run: Run) -> None:
    """weights clients by example count in Aggregator.aggregate"""
    for case, outcome in run(1, AGGREGATIONS):
        assert_weighted_means(case, outcome, PARAMETERS)


@points(0.25)
def test_training_uses_what_is_sent(run: Run, checks: RoundChecks) -> None:
    """trains with the models that are sent"""
    faults = faults_of(run, checks)
    assert_clients_matter(faults, checks)
    checks.global_model_used(faults.case, faults.outcome)


@points(2, requires=test_training_uses_what_is_sent)
def test_training_is_that_of_fedavg(run: Run, checks: RoundChecks) -> None:
    """reaches the correct global model after every round"""
    for case, outcome in runs_of(run, *checks.everything):
        for check in checks.training:
            check(case, outcome)


@points(0.25, requires=test_training_uses_what_is_sent)
@pytest.mark.parametrize("ranks", CASES)
def test_trains_with_any_number_of_clients(run: Run, checks: RoundChecks, ranks: int) -> None:
    """works the same way with any number of clients"""
    assert_ends_alike(run, CASES, ranks, checks.everything)


@points(1, requires=test_training_uses_what_is_sent)
def test_clients_train_on_all_of_their_examples(run: Run, checks: RoundChecks) -> None:
    """trains each client on all of its part of the data"""
    for case, outcome in runs_of(run, *checks.everything):
        checks.own_examples(case, outcome)


@points(0.25, requires=test_training_uses_what_is_sent)
def test_trains_for_five_rounds(run: Run, checks: RoundChecks) -> None:
    """trains for 5 rounds of 1 epoch in batches of 32"""
    for case, outcome in runs_of(run, *checks.everything):
        checks.five_rounds(case, outcome)


@points(0.25, requires=test_training_uses_what_is_sent)
def test_local_steps_are_those_of_sgd(run: Run, checks: RoundChecks) -> None:
    """takes SGD steps with learning rate 0.01 and momentum 0.9"""
    for case, outcome in runs_of(run, *checks.everything):
        checks.local_sgd(case, outcome)


@points(2.5, requires=test_training_uses_what_is_sent)
def test_clients_begin_each_round_with_the_global_model(run: Run, checks: RoundChecks) -> None:
    """begins each round with the global model on all clients"""
    for case, outcome in runs_of(run):
        checks.common_starts(case, outcome)


@points(3.25, requires=test_training_uses_what_is_sent)
def test_global_model_holds_all_clients(run: Run, checks: RoundChecks) -> None:
    """makes each global model a mean of all clients' models"""
    for case, outcome in runs_of(run):
        checks.parts_differ(case, outcome)
        checks.means(case, outcome)


@points(2.75, requires=test_training_uses_what_is_sent)
def test_clients_count_by_their_examples(run: Run, checks: RoundChecks) -> None:
    """weights clients by example count in each global model"""
    for case, outcome in runs_of(run, *checks.everything):
        checks.parts_differ(case, outcome)
        checks.half_of_parts(case, outcome)
        checks.weights(case, outcome)


@points(0.25, requires=test_training_uses_what_is_sent)
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


@points(0.25, requires=test_training_uses_what_is_sent)
def test_a_round_sends_each_model_once(run: Run, checks: RoundChecks) -> None:
    """sends each model once per round, and little else"""
    for case, outcome in runs_of(run):
        checks.sent_once(case, outcome)


@points(0.5, requires=test_training_uses_what_is_sent)
def test_the_label_distribution_is_drawn(run: Run) -> None:
    """saves a figure under figures/"""
    for case, outcome in runs_of(run):
        assert_figure(case, outcome)


@points(0.25, requires=test_training_uses_what_is_sent)
def test_works_when_no_message_is_buffered(run: Run, checks: RoundChecks) -> None:
    """works without message buffering"""
    for case, outcome in run(3, CASES[3]).having(synchronous_sends=True):
        assert_as_right_as(runs_of(run), case, outcome, checks.everything)


@stage(9)
def test_rounds_are_right(run: Run, checks: RoundChecks) -> None:
    """trains correctly until an error stops it"""
    for case, outcome in run(1, AGGREGATIONS):
        assert_weighted_means(case, outcome, PARAMETERS)
    seen = begun(run, CASES, runs_of(run), MORE_THAN_ALL, checks.training)
    assert_clients_matter(faults_in(run, *seen, checks.everything), checks)


@stage(10)
def test_clients_keep_their_own_models(run: Run, checks: RoundChecks) -> None:
    """trains and averages, but ignores the global model"""
    faults = faults_of(run, checks)
    assert_clients_matter(faults, checks)
    for check in (checks.own_examples, checks.local_sgd, checks.means, checks.weights):
        check(faults.case, faults.outcome)


@stage(5)
def test_models_are_exchanged(run: Run) -> None:
    """averages correctly, and exchanges models in the first round"""
    for case, outcome in run(1, AGGREGATIONS):
        assert_weighted_means(case, outcome, PARAMETERS)
    attempts = run(3, CASES[3]).attempts()
    if not attempts:
        not_run("needs a run of the script")
    for case, attempt in attempts:
        assert_exchanged(case, attempt)

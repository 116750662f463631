"""Federated averaging of clients with different numbers of examples, mostly of a few classes."""

from functools import partial

import pytest

from grader.api import part, points, stage

from .aggregation import PARAMETERS, Aggregation, assert_weighted_means
from .answered import Run, begun
from .fedavg_cases import MORE_THAN_ALL, RoundChecks, assert_exchanged, cases_of
from .origins import faults_in
from .shared_fedavg_tests import assert_clients_matter, shared_tests

pytestmark = [part("fedavg_noniid"), pytest.mark.mpi]

CASES = cases_of({3: (65, 40), 5: (36, 40, 48, 33)}, is_skewed=True)
AGGREGATIONS = (
    Aggregation("aggregate", num_samples=(5,)),
    Aggregation("aggregate", num_samples=(12, 70, 33)),
)
SHARED = shared_tests(CASES)
checks, runs_of, faults_of = SHARED.checks, SHARED.runs_of, SHARED.faults_of


@points(4.25)
def test_aggregate_weighs_by_examples(run: Run) -> None:
    """weights clients by example count in Aggregator.aggregate"""
    for case, outcome in run(1, AGGREGATIONS):
        assert_weighted_means(case, outcome, PARAMETERS)


@points(0.25)
def test_training_uses_what_is_sent(run: Run, checks: RoundChecks) -> None:
    """trains all clients at the same time, with what is sent"""
    SHARED.assert_at_once_on_clients(run, checks)
    faults = faults_of(run, checks)
    assert_clients_matter(faults, checks)
    checks.global_model_used(faults.case, faults.outcome)


sent = partial(points, requires=test_training_uses_what_is_sent)
test_training_is_that_of_fedavg = sent(2)(SHARED.test_training_is_that_of_fedavg)
test_trains_with_any_number_of_clients = sent(0.25)(SHARED.test_trains_with_any_number_of_clients)
test_clients_train_on_all_of_their_examples = sent(1)(
    SHARED.test_clients_train_on_all_of_their_examples
)
test_trains_for_five_rounds = sent(0.25)(SHARED.test_trains_for_five_rounds)
test_local_steps_are_those_of_sgd = sent(0.25)(SHARED.test_local_steps_are_those_of_sgd)
test_clients_begin_each_round_with_the_global_model = sent(2.5)(
    SHARED.test_clients_begin_each_round_with_the_global_model
)


@sent(3.25)
def test_global_model_holds_all_clients(run: Run, checks: RoundChecks) -> None:
    """makes each global model a mean of all clients' models"""
    for case, outcome in runs_of(run):
        checks.parts_differ(case, outcome)
        checks.means(case, outcome)


@sent(2.75)
def test_clients_count_by_their_examples(run: Run, checks: RoundChecks) -> None:
    """weights clients by example count in each global model"""
    for case, outcome in runs_of(run, *checks.everything):
        checks.parts_differ(case, outcome)
        checks.half_of_parts(case, outcome)
        checks.weights(case, outcome)


test_model_holds_the_global_model = sent(0.25)(SHARED.test_model_holds_the_global_model)
test_server_gives_out_data_and_model = sent(1)(SHARED.test_server_gives_out_data_and_model)
test_models_go_by_way_of_the_server = sent(1)(SHARED.test_models_go_by_way_of_the_server)


@sent(0.25)
def test_a_round_sends_each_model_once(run: Run, checks: RoundChecks) -> None:
    """sends each model once per round, and little else"""
    for case, outcome in runs_of(run):
        checks.sent_once(case, outcome)


test_the_label_distribution_is_drawn = sent(0.5)(SHARED.test_the_label_distribution_is_drawn)
test_works_when_no_message_is_buffered = sent(0.25)(SHARED.test_works_when_no_message_is_buffered)


# Three readers pay 67 to 75 %.
test_clients_take_turns = stage(14.25)(SHARED.test_clients_take_turns)


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
    assert_exchanged(run(3, CASES[3]))

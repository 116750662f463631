"""Federated averaging of clients that have equally many examples, of all classes."""

from functools import partial

import pytest

from grader.api import Launch, part, points, stage

from .aggregation import (
    PARAMETERS,
    STATISTICS,
    Aggregation,
    assert_counter_kept,
    assert_model_kept,
    assert_weighted_means,
)
from .answered import Run, assert_as_right_as, begun
from .fedavg_cases import MORE_THAN_ALL, RoundChecks, assert_exchanged, cases_of
from .origins import faults_in
from .shared_fedavg_tests import assert_clients_matter, shared_tests

pytestmark = [part("fedavg_iid"), pytest.mark.mpi]

CASES = cases_of({3: (34, 34), 5: (33, 33, 33, 33)}, is_skewed=False)
ONE_CLIENT = cases_of({2: (40,)}, is_skewed=False)
AGGREGATIONS = (
    Aggregation("aggregate", subject="plain", num_samples=(20, 20, 20)),
    Aggregation("aggregate", subject="counter", num_samples=(20, 20, 20), has_counter=True),
)


def alone(run: Run) -> Launch:
    """Return the run of the script as its own program."""
    return run(2, ONE_CLIENT[2], standalone=True)


SHARED = shared_tests(CASES, alone)
checks, runs_of, faults_of = SHARED.checks, SHARED.runs_of, SHARED.faults_of


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
    """trains all clients at the same time, with what is sent"""
    SHARED.assert_at_once_on_clients(run, checks)
    faults = faults_of(run, checks)
    assert_clients_matter(faults, checks)
    checks.global_model_used(faults.case, faults.outcome)
    checks.several_in_global_models(faults.case, faults.outcome)


sent = partial(points, requires=test_training_uses_what_is_sent)
test_training_is_that_of_fedavg = sent(1.5)(SHARED.test_training_is_that_of_fedavg)
test_trains_with_any_number_of_clients = sent(0.5)(SHARED.test_trains_with_any_number_of_clients)
test_clients_train_on_all_of_their_examples = sent(0.5)(
    SHARED.test_clients_train_on_all_of_their_examples
)
test_trains_for_five_rounds = sent(0.5)(SHARED.test_trains_for_five_rounds)
test_local_steps_are_those_of_sgd = sent(0.5)(SHARED.test_local_steps_are_those_of_sgd)
test_clients_begin_each_round_with_the_global_model = sent(1)(
    SHARED.test_clients_begin_each_round_with_the_global_model
)


@sent(1.25)
def test_global_model_is_the_mean_of_the_clients(run: Run, checks: RoundChecks) -> None:
    """averages all clients' models after each round"""
    for case, outcome in runs_of(run, *checks.everything):
        checks.equal_weights(case, outcome)


test_model_holds_the_global_model = sent(1)(SHARED.test_model_holds_the_global_model)
test_server_gives_out_data_and_model = sent(1)(SHARED.test_server_gives_out_data_and_model)
test_models_go_by_way_of_the_server = sent(1)(SHARED.test_models_go_by_way_of_the_server)
test_the_label_distribution_is_drawn = sent(1)(SHARED.test_the_label_distribution_is_drawn)
test_works_when_no_message_is_buffered = sent(0.5)(SHARED.test_works_when_no_message_is_buffered)


@sent(0.5)
def test_works_as_a_program_of_its_own(run: Run, checks: RoundChecks) -> None:
    """works as a standalone program"""
    for case, outcome in alone(run):
        assert_as_right_as(runs_of(run), case, outcome, checks.everything)


# Three readers pay 67 to 75 %.
test_clients_take_turns = stage(10.75)(SHARED.test_clients_take_turns)


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
    assert_exchanged(run(3, CASES[3]))

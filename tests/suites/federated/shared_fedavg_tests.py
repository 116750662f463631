"""The tests that both FedAvg parts share; each part's suite says what they pay."""

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from grader.api import Launch, not_run

from .answered import (
    Cases,
    Check,
    Run,
    Runs,
    answered,
    assert_as_right_as,
    assert_ends_alike,
    assert_none_in_turns,
    in_turns,
)
from .fedavg_cases import RoundChecks, assert_figure
from .origins import Faults, drawn_run, faults_in


def assert_clients_matter(faults: Faults, checks: RoundChecks) -> None:
    """Assert that what the clients send changes the global model."""
    case, outcome = faults.case, faults.outcome
    faults.assert_some_matter(
        range(1, outcome.ranks),
        least=1,
        num_used=lambda: len(checks.ranks_used_by_others(case, outcome)),
    )
    faults.assert_contents(checks.assert_contents)
    # Half of what a mean changes by if the smallest client's model changes by 1.
    faults.assert_changes(range(1, outcome.ranks), min(case.client_sizes) / case.num_training / 2)
    faults.assert_results_follow_images()


def shared_tests(cases: Cases, alone: Callable[[Run], Launch] | None = None) -> SimpleNamespace:
    """Return the shared tests of a part, by their names, and what its other tests begin with.

    alone: returns the run of the script as its own program.
    """

    @pytest.fixture(scope="module")
    def checks() -> RoundChecks:
        """Return what is asked of a run."""
        return RoundChecks()

    def runs_of(run: Run, *checks: Check) -> Runs:
        """Yield the runs with several clients. The checks must hold for the longer run."""
        as_program = None if alone is None else lambda: alone(run)
        return answered(run, cases, alone=as_program, checks=checks)

    def unbuffered(run: Run) -> Launch:
        """Return the run in which MPI stores no message."""
        return run(3, cases[3]).having(synchronous_sends=True)

    def faults_of(run: Run, checks: RoundChecks) -> Faults:
        """Return what altered messages lead to on one of these numbers of ranks."""
        return faults_in(run, *drawn_run(runs_of(run)), checks.everything)

    def assert_at_once_on_clients(run: Run, checks: RoundChecks) -> None:
        """Assert that clients train at the same time, where each has examples of its own."""
        right = unbuffered(run).holding(checks.own_examples)
        assert_none_in_turns(runs_of(run, *checks.everything), right)

    def test_clients_take_turns(run: Run, checks: RoundChecks) -> None:
        """trains correctly, but on one client at a time"""
        if not in_turns(runs_of(run, *checks.everything), unbuffered(run)):
            not_run("needs clients that take turns")
        runs = [*unbuffered(run), *runs_of(run, *checks.everything)]
        for case, outcome in runs:
            for check in (*checks.everything, checks.served, checks.models_exchanged):
                check(case, outcome)
        assert_clients_matter(faults_of(run, checks), checks)

    def test_training_is_that_of_fedavg(run: Run, checks: RoundChecks) -> None:
        """reaches the correct global model after every round"""
        for case, outcome in runs_of(run, *checks.everything):
            for check in checks.training:
                check(case, outcome)

    @pytest.mark.parametrize("ranks", cases)
    def test_trains_with_any_number_of_clients(run: Run, checks: RoundChecks, ranks: int) -> None:
        """works the same way with any number of clients"""
        assert_ends_alike(run, cases, ranks, checks.everything)

    def test_clients_train_on_all_of_their_examples(run: Run, checks: RoundChecks) -> None:
        """trains each client on all of its part of the data"""
        for case, outcome in runs_of(run, *checks.everything):
            checks.own_examples(case, outcome)

    def test_trains_for_five_rounds(run: Run, checks: RoundChecks) -> None:
        """trains for 5 rounds of 1 epoch in batches of 32"""
        for case, outcome in runs_of(run, *checks.everything):
            checks.five_rounds(case, outcome)

    def test_local_steps_are_those_of_sgd(run: Run, checks: RoundChecks) -> None:
        """takes SGD steps with learning rate 0.01 and momentum 0.9"""
        for case, outcome in runs_of(run, *checks.everything):
            checks.local_sgd(case, outcome)

    def test_clients_begin_each_round_with_the_global_model(run: Run, checks: RoundChecks) -> None:
        """begins each round with the global model on all clients"""
        for case, outcome in runs_of(run):
            checks.common_starts(case, outcome)

    def test_model_holds_the_global_model(run: Run, checks: RoundChecks) -> None:
        """leaves the last global model in `model` on rank 0"""
        for case, outcome in runs_of(run):
            checks.model_kept(case, outcome)

    def test_server_gives_out_data_and_model(run: Run, checks: RoundChecks) -> None:
        """sends the data and every model from the server"""
        for case, outcome in runs_of(run):
            checks.served(case, outcome)
        faults = faults_of(run, checks)
        num_models = (faults.outcome.ranks - 1) * checks.num_rounds(faults.case, faults.outcome)
        faults.assert_each_matters([0], num_models)
        faults.assert_images_trained_on()

    def test_models_go_by_way_of_the_server(run: Run, checks: RoundChecks) -> None:
        """sends each client's model every round, to the server only"""
        for case, outcome in runs_of(run):
            checks.models_exchanged(case, outcome)
        faults = faults_of(run, checks)
        if faults.holds_without(checks.means):
            clients = range(1, faults.outcome.ranks)
            faults.assert_each_matters(clients, checks.num_rounds(faults.case, faults.outcome))

    def test_the_label_distribution_is_drawn(run: Run) -> None:
        """saves a figure under figures/"""
        for case, outcome in runs_of(run):
            assert_figure(case, outcome)

    def test_works_when_no_message_is_buffered(run: Run, checks: RoundChecks) -> None:
        """works without message buffering"""
        for case, outcome in unbuffered(run):
            assert_as_right_as(runs_of(run), case, outcome, checks.everything)

    return SimpleNamespace(**locals())

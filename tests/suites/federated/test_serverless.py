"""Training without a server: all ranks average their gradients and take the same step."""

from contextlib import suppress

import pytest

from grader.api import (
    Launch,
    Outcome,
    WrongAnswer,
    assert_time_ratio,
    holds,
    not_run,
    part,
    points,
    stage,
)

from .answered import (
    Check,
    Run,
    Runs,
    answered,
    assert_as_right_as,
    assert_ends_alike,
    assert_none_in_turns,
    begun,
    in_turns,
)
from .gathering import averaging_root
from .origins import Faults, drawn_run, faults_in
from .sgd_cases import LEAST_CHANGE, StepChecks, cases_of, num_steps_of, timing_cases
from .sgd_traffic import (
    assert_every_rank_steps,
    assert_gradients_given,
    assert_no_rank_averages_alone,
    lone_stepper,
)
from .training_cases import Training

pytestmark = [part("serverless"), pytest.mark.mpi]

FILE = "dist_sgd_serverless.py"
CASES = cases_of(FILE, {4: 200, 2: 200, 5: 200})
ONE_PROCESS = cases_of(FILE, {1: 200})


@pytest.fixture(scope="module")
def checks() -> StepChecks:
    """Return what is asked of a run."""
    return StepChecks(has_server=False)


def runs_of(run: Run, *checks: Check) -> Runs:
    """Yield the runs on several ranks. The checks must hold for the longer run."""
    return answered(run, CASES, alone=lambda: alone(run), checks=checks)


def alone(run: Run) -> Launch:
    """Return the run of the script as its own program."""
    return run(2, CASES[2], standalone=True)


def faults_of(run: Run, checks: StepChecks) -> Faults:
    """Return what altered messages lead to on one of these numbers of ranks."""
    return faults_in(run, *drawn_run(runs_of(run)), checks.everything)


def assert_ranks_matter(faults: Faults, checks: StepChecks) -> None:
    """Assert that what the ranks send changes the training of others."""
    case, outcome = faults.case, faults.outcome
    faults.assert_some_matter(
        range(outcome.ranks),
        # Who copies rank 0's model uses the gradients of one rank only.
        least=min(2, outcome.ranks - 1),
        num_used=lambda: len(checks.ranks_used_by_others(case, outcome)),
    )
    faults.assert_contents(checks.assert_contents)


@points(0.5)
def test_training_uses_what_the_ranks_send(run: Run, checks: StepChecks) -> None:
    """trains on all ranks at once, with what they send each other"""
    for case, outcome in runs_of(run):
        assert_every_rank_steps(case, outcome)
        assert_no_rank_averages_alone(case, outcome)
    faults = faults_of(run, checks)
    assert_ranks_matter(faults, checks)
    faults.assert_changes(range(faults.outcome.ranks), LEAST_CHANGE)
    assert_none_in_turns(runs_of(run, *checks.everything))


@points(2.75, requires=test_training_uses_what_the_ranks_send)
def test_training_is_that_of_one_process(run: Run, checks: StepChecks) -> None:
    """has the same model as cent_sgd.py after every step"""
    for case, outcome in runs_of(run, *checks.everything):
        for check in checks.training:
            check(case, outcome)


@points(0.5, requires=test_training_uses_what_the_ranks_send)
@pytest.mark.parametrize("ranks", CASES)
def test_trains_on_any_number_of_processes(run: Run, checks: StepChecks, ranks: int) -> None:
    """works the same way on any number of ranks"""
    assert_ends_alike(run, CASES, ranks, checks.everything)


@points(1.25, requires=test_training_uses_what_the_ranks_send)
def test_each_rank_takes_its_slice(run: Run, checks: StepChecks) -> None:
    """trains each rank on int(batch / size) examples"""
    for case, outcome in runs_of(run):
        checks.slice_sizes(case, outcome)


@points(4, requires=test_training_uses_what_the_ranks_send)
def test_slices_make_up_the_batches(run: Run, checks: StepChecks) -> None:
    """cuts each batch so that no example is lost or repeated"""
    for case, outcome in runs_of(run):
        checks.whole_batches(case, outcome)


@points(0.5, requires=test_training_uses_what_the_ranks_send)
def test_trains_for_three_epochs(run: Run, checks: StepChecks) -> None:
    """trains for exactly 3 epochs"""
    for case, outcome in runs_of(run, *checks.everything):
        checks.epochs(case, outcome)


@points(0.75, requires=test_training_uses_what_the_ranks_send)
def test_all_ranks_start_with_one_model(run: Run, checks: StepChecks) -> None:
    """starts with the same model on all ranks"""
    for case, outcome in runs_of(run):
        checks.one_start(case, outcome)


@points(2, requires=test_training_uses_what_the_ranks_send)
def test_gradients_of_all_ranks_are_summed(run: Run, checks: StepChecks) -> None:
    """weights all ranks' gradients equally"""
    for case, outcome in runs_of(run, *checks.everything):
        checks.in_time(case, outcome)
        checks.summed(case, outcome)


@points(2.5, requires=test_training_uses_what_the_ranks_send)
def test_the_sum_is_divided(run: Run, checks: StepChecks) -> None:
    """divides the sum of the gradients correctly"""
    for case, outcome in runs_of(run, *checks.everything):
        checks.in_time(case, outcome)
        checks.divided(case, outcome)


@points(3, requires=test_training_uses_what_the_ranks_send)
def test_each_step_uses_the_reduced_gradient(run: Run, checks: StepChecks) -> None:
    """uses the reduced gradient in every step"""
    for case, outcome in runs_of(run, *checks.everything):
        checks.steps_use_all(case, outcome)
        checks.cleared(case, outcome)


@points(1, requires=test_training_uses_what_the_ranks_send)
def test_every_parameter_is_reduced(run: Run, checks: StepChecks) -> None:
    """reduces the gradients of all weights and biases"""
    for case, outcome in runs_of(run, *checks.everything):
        checks.in_time(case, outcome)
        checks.every_parameter(case, outcome)


@points(1, requires=test_training_uses_what_the_ranks_send)
def test_steps_are_those_of_sgd(run: Run, checks: StepChecks) -> None:
    """takes SGD steps with learning rate 0.01 and momentum 0.9"""
    for case, outcome in runs_of(run, *checks.everything):
        checks.in_time(case, outcome)
        checks.sgd(case, outcome)


@points(1.5, requires=test_training_uses_what_the_ranks_send)
def test_all_ranks_keep_one_model(run: Run, checks: StepChecks) -> None:
    """keeps the same model on all ranks after each step"""
    for case, outcome in runs_of(run, *checks.everything):
        checks.one_model(case, outcome)


@points(0.5, requires=test_training_uses_what_the_ranks_send)
def test_model_holds_the_trained_network(run: Run, checks: StepChecks) -> None:
    """leaves the trained network in `model` on each rank"""
    for case, outcome in runs_of(run):
        checks.model_kept(case, outcome)


@points(0.5, requires=test_training_uses_what_the_ranks_send)
def test_gradients_are_sent_in_every_step(run: Run, checks: StepChecks) -> None:
    """sends every rank's gradients in every step"""
    for case, outcome in runs_of(run, *checks.everything):
        assert_gradients_given(case, outcome, range(outcome.ranks))
    faults = faults_of(run, checks)
    if faults.holds_without(checks.summed):
        faults.assert_each_matters(range(faults.outcome.ranks), num_steps_of(faults.outcome))


@points(1.25, requires=test_training_uses_what_the_ranks_send)
def test_one_process_trains_like_the_baseline(run: Run, checks: StepChecks) -> None:
    """works on a single rank"""
    # Two readers pay 35 % where the step comes before the reduction, 60 % where old gradients stay.
    for case, outcome in runs_of(run, *checks.everything):
        checks.in_time(case, outcome)
        checks.cleared(case, outcome)
    for case, outcome in run(1, ONE_PROCESS[1]):
        assert_as_right_as(runs_of(run), case, outcome, checks.everything)


@points(1, requires=test_training_uses_what_the_ranks_send)
def test_keeps_up_with_centralized_training(run: Run, checks: StepChecks) -> None:
    """takes at most 10x the time of centralized training"""

    def check(case: Training, outcome: Outcome) -> None:
        work = (checks.slice_sizes, checks.whole_batches, checks.epochs)
        assert_as_right_as(runs_of(run), case, outcome, work)

    def measure(attempt: int) -> Launch:
        return run(2, tuple(timing_cases(FILE, attempt)))

    assert_time_ratio(
        measure,
        check=check,
        factor=10,
        what="training on 3 batches with 2 ranks",
        yardstick="centralized training on the same number of batches",
    )


@points(0.5, requires=test_training_uses_what_the_ranks_send)
def test_works_as_a_program_of_its_own(run: Run, checks: StepChecks) -> None:
    """works as a standalone program"""
    for case, outcome in alone(run):
        assert_as_right_as(runs_of(run), case, outcome, checks.everything)


# Readers pay 40 % in one file, and 60 % in another that also works on one rank.
@stage(12)
def test_first_step_is_right(run: Run, checks: StepChecks) -> None:
    """takes a correct first step before an error stops it"""
    seen = begun(run, CASES, runs_of(run), 1, checks.first_step)
    assert_ranks_matter(faults_in(run, *seen, checks.everything), checks)


# Three readers pay 62 to 75 % for workers of a server.
@stage(16.75)
def test_ranks_take_turns(run: Run, checks: StepChecks) -> None:
    """trains correctly, but on one rank at a time"""
    if not in_turns(runs_of(run, *checks.everything)):
        not_run("needs ranks that take turns")
    for case, outcome in runs_of(run, *checks.everything):
        assert_every_rank_steps(case, outcome)
        for check in checks.everything:
            check(case, outcome)
    assert_ranks_matter(faults_of(run, checks), checks)


@stage(20.5)
def test_one_rank_averages_for_all(run: Run, checks: StepChecks) -> None:
    """trains correctly, but one rank averages all gradients"""
    for case, outcome in runs_of(run, *checks.everything):
        # Between two ranks, messages look as they do where each averages by itself.
        if outcome.ranks > 2 and averaging_root(outcome.trace, num_steps_of(outcome)) is None:
            not_run("needs a rank that averages for all")
        assert_every_rank_steps(case, outcome)
        for check in checks.everything:
            check(case, outcome)
    faults = faults_of(run, checks)
    assert_ranks_matter(faults, checks)
    faults.assert_changes(range(faults.outcome.ranks), LEAST_CHANGE)
    assert_none_in_turns(runs_of(run, *checks.everything))


# Three readers pay 50 to 55 %.
@stage(13.75)
def test_one_rank_steps_for_all(run: Run, checks: StepChecks) -> None:
    """trains correctly, with one rank as a server"""
    for case, outcome in runs_of(run, *checks.everything):
        if lone_stepper(outcome) is None:
            not_run("needs a rank that steps for all")
        for check in checks.everything:
            check(case, outcome)
    assert_ranks_matter(faults_of(run, checks), checks)


# Two readers pay 20 and 25 %.
@stage(7)
def test_gradients_are_sent_but_not_used(run: Run, checks: StepChecks) -> None:
    """sends the gradients of each step, but trains without them"""
    asked = checks.epochs, checks.one_start, checks.assert_own_gradients
    for case, outcome in runs_of(run):
        with suppress(WrongAnswer):
            is_own = not checks.ranks_used_by_others(case, outcome)
            if is_own and all(holds(check, case, outcome) for check in asked):
                assert_gradients_given(case, outcome, range(outcome.ranks))
                return
    faults = faults_of(run, checks)
    assert_ranks_matter(faults, checks)
    if faults.changes_little(range(faults.outcome.ranks), LEAST_CHANGE) is None:
        not_run("needs ranks that train with their own gradients only")
    assert_gradients_given(faults.case, faults.outcome, range(faults.outcome.ranks))

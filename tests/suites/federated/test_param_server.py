"""A parameter server: rank 0 sends data and model, the workers send losses and gradients."""

from dataclasses import replace

import pytest

from grader.api import Launch, not_run, part, points, stage

from .answered import (
    Check,
    Run,
    Runs,
    answered,
    assert_as_right_as,
    assert_calls_mpi,
    assert_ends_alike,
    assert_none_in_turns,
    begun,
    in_turns,
)
from .origins import Faults, drawn_run, faults_in
from .sgd_cases import LEAST_CHANGE, StepChecks, cases_of, num_right_steps, num_steps_of
from .sgd_traffic import (
    assert_by_way_of_the_server,
    assert_examples_served,
    assert_gradients_given,
    assert_gradients_given_once,
    assert_models_served,
)

pytestmark = [part("param_server"), pytest.mark.mpi]

FILE = "dist_sgd_param_server.py"
CASES = cases_of(FILE, {3: 200, 5: 200})
# The last of its launch: what hangs there has been judged in all else.
CASES[3] += (replace(CASES[3][0], synchronous_sends=True),)
ONE_WORKER = cases_of(FILE, {2: 200})


@pytest.fixture(scope="module")
def checks() -> StepChecks:
    """Return what is asked of a run."""
    return StepChecks(has_server=True)


def runs_of(run: Run, *checks: Check) -> Runs:
    """Yield the runs with several workers. The checks must hold for the longer run."""
    return answered(run, CASES, alone=lambda: alone(run), checks=checks)


def alone(run: Run) -> Launch:
    """Return the run of the script as its own program."""
    return run(2, ONE_WORKER[2], standalone=True)


def unbuffered(run: Run) -> Launch:
    """Return the run in which MPI stores no message."""
    return run(3, CASES[3]).having(synchronous_sends=True)


def faults_of(run: Run, checks: StepChecks) -> Faults:
    """Return what altered messages lead to on one of these numbers of ranks."""
    return faults_in(run, *drawn_run(runs_of(run)), checks.everything)


def assert_workers_matter(faults: Faults, checks: StepChecks) -> None:
    """Assert that what the workers send changes the server's model."""
    case, outcome = faults.case, faults.outcome
    faults.assert_some_matter(
        checks.computing(outcome),
        least=1,
        num_used=lambda: len(checks.ranks_used_by_others(case, outcome)),
    )
    faults.assert_contents(checks.assert_contents)
    faults.assert_changes(checks.computing(outcome), LEAST_CHANGE)
    faults.assert_results_follow_images()


def assert_models_matter(faults: Faults, checks: StepChecks) -> None:
    """Assert that the models that the server sends are those that the workers compute with."""
    num_models = num_steps_of(faults.outcome) * len(checks.computing(faults.outcome))
    faults.assert_each_matters([0], num_models)


@points(0.25)
def test_training_uses_what_is_sent(run: Run, checks: StepChecks) -> None:
    """trains on all workers at the same time, with what they send"""
    assert_workers_matter(faults_of(run, checks), checks)
    right = unbuffered(run).holding(checks.workers_follow)
    assert_none_in_turns(runs_of(run, *checks.everything), right)


@points(1.5, requires=test_training_uses_what_is_sent)
def test_training_is_that_of_one_process(run: Run, checks: StepChecks) -> None:
    """has the same model as cent_sgd.py after every step"""
    for case, outcome in runs_of(run, *checks.everything):
        for check in checks.training:
            check(case, outcome)


@points(0.5, requires=test_training_uses_what_is_sent)
@pytest.mark.parametrize("ranks", [*CASES, *ONE_WORKER])
def test_trains_with_any_number_of_workers(run: Run, checks: StepChecks, ranks: int) -> None:
    """works the same way with any number of workers"""
    assert_ends_alike(run, {**CASES, **ONE_WORKER}, ranks, checks.everything)


@points(1, requires=test_training_uses_what_is_sent)
def test_each_worker_computes_its_slice(run: Run, checks: StepChecks) -> None:
    """trains each worker on int(batch / workers) examples"""
    for case, outcome in runs_of(run, *checks.everything):
        checks.slice_sizes(case, outcome)


@points(1.5, requires=test_training_uses_what_is_sent)
def test_slices_make_up_the_batches(run: Run, checks: StepChecks) -> None:
    """cuts each batch so that no example is lost or repeated"""
    for case, outcome in runs_of(run, *checks.everything):
        checks.whole_batches(case, outcome)


@points(0.25, requires=test_training_uses_what_is_sent)
def test_trains_for_three_epochs(run: Run, checks: StepChecks) -> None:
    """trains for exactly 3 epochs"""
    for case, outcome in runs_of(run, *checks.everything):
        checks.epochs(case, outcome)


@points(0.75, requires=test_training_uses_what_is_sent)
def test_server_computes_no_gradients(run: Run, checks: StepChecks) -> None:
    """computes no gradients on the server"""
    for case, outcome in runs_of(run, *checks.everything):
        checks.only_workers(case, outcome)


@points(0.5, requires=test_training_uses_what_is_sent)
def test_workers_start_with_the_servers_model(run: Run, checks: StepChecks) -> None:
    """starts all workers with the server's model"""
    for case, outcome in runs_of(run):
        checks.one_start(case, outcome)


@points(1.25, requires=test_training_uses_what_is_sent)
def test_server_uses_the_gradients_of_all_workers(run: Run, checks: StepChecks) -> None:
    """weights all workers' gradients equally"""
    for case, outcome in runs_of(run, *checks.everything):
        checks.summed(case, outcome)


@points(2, requires=test_training_uses_what_is_sent)
def test_server_divides_the_sum(run: Run, checks: StepChecks) -> None:
    """divides the sum of the gradients correctly"""
    for case, outcome in runs_of(run, *checks.everything):
        checks.divided(case, outcome)


@points(0.5, requires=test_training_uses_what_is_sent)
def test_every_parameter_gets_its_gradient(run: Run, checks: StepChecks) -> None:
    """updates each parameter with its own gradient"""
    for case, outcome in runs_of(run, *checks.everything):
        checks.every_parameter(case, outcome)


@points(1, requires=test_training_uses_what_is_sent)
def test_steps_are_those_of_sgd(run: Run, checks: StepChecks) -> None:
    """takes SGD steps with learning rate 0.01 and momentum 0.9"""
    for case, outcome in runs_of(run, *checks.everything):
        checks.sgd(case, outcome)


@points(5, requires=test_training_uses_what_is_sent)
def test_workers_get_the_new_model_in_every_step(run: Run, checks: StepChecks) -> None:
    """computes each gradient with the server's new model"""
    for case, outcome in runs_of(run, *checks.everything):
        checks.workers_follow(case, outcome)
        assert_models_served(case, outcome)
    faults = faults_of(run, checks)
    assert_models_matter(faults, checks)
    faults.assert_contents(checks.assert_models_given)


@points(0.25, requires=test_training_uses_what_is_sent)
def test_model_holds_the_trained_network(run: Run, checks: StepChecks) -> None:
    """leaves the trained network in `model` on rank 0"""
    for case, outcome in runs_of(run):
        checks.model_kept(case, outcome)


@points(4.5, requires=test_training_uses_what_is_sent)
def test_server_gives_out_the_examples(run: Run, checks: StepChecks) -> None:
    """sends each worker its examples from the server"""
    for case, outcome in runs_of(run, *checks.everything):
        assert_examples_served(case, outcome)
    faults_of(run, checks).assert_images_trained_on()


@points(0.5, requires=test_training_uses_what_is_sent)
def test_workers_send_their_gradients_in_every_step(run: Run, checks: StepChecks) -> None:
    """sends every worker's gradients in every step"""
    for case, outcome in runs_of(run, *checks.everything):
        assert_gradients_given(case, outcome, checks.computing(outcome))
    faults = faults_of(run, checks)
    if faults.holds_without(checks.summed):
        workers = checks.computing(faults.outcome)
        faults.assert_each_matters(workers, num_steps_of(faults.outcome))


@points(1.5, requires=test_training_uses_what_is_sent)
def test_everything_goes_by_way_of_the_server(run: Run) -> None:
    """exchanges data with the server only"""
    for case, outcome in runs_of(run):
        assert_by_way_of_the_server(case, outcome)


@points(0.5, requires=test_training_uses_what_is_sent)
def test_a_step_sends_gradients_once(run: Run, checks: StepChecks) -> None:
    """sends gradients once per step, and little else"""
    for case, outcome in runs_of(run, *checks.everything):
        assert_gradients_given_once(case, outcome)


@points(1.25, requires=test_training_uses_what_is_sent)
def test_works_when_no_message_is_buffered(run: Run, checks: StepChecks) -> None:
    """works without message buffering"""
    for case, outcome in unbuffered(run):
        assert_as_right_as(runs_of(run), case, outcome, checks.everything)


@points(0.5, requires=test_training_uses_what_is_sent)
def test_works_as_a_program_of_its_own(run: Run, checks: StepChecks) -> None:
    """works as a standalone program"""
    for case, outcome in alone(run):
        assert_as_right_as(runs_of(run), case, outcome, checks.everything)


@stage(20)
def test_nothing_but_the_end_is_wrong(run: Run, checks: StepChecks) -> None:
    """takes every step correctly, and fails only at its end"""
    assert_calls_mpi(alone(run))
    number = num_right_steps(CASES[3][0])
    case, outcome = begun(run, CASES, runs_of(run), number, checks.training, is_forgiven=False)
    assert_examples_served(case, outcome)
    assert_models_served(case, outcome)
    assert_gradients_given(case, outcome, checks.computing(outcome))
    assert_by_way_of_the_server(case, outcome)
    faults = faults_in(run, case, outcome, checks.everything)
    assert_workers_matter(faults, checks)
    assert_models_matter(faults, checks)


# Three readers pay 62 to 75 %.
@stage(16.75)
def test_workers_take_turns(run: Run, checks: StepChecks) -> None:
    """trains correctly, but on one worker at a time"""
    if not in_turns(runs_of(run, *checks.everything), unbuffered(run)):
        not_run("needs workers that take turns")
    runs = [*unbuffered(run), *runs_of(run, *checks.everything)]
    served = (assert_examples_served, assert_models_served, assert_by_way_of_the_server)
    for case, outcome in runs:
        for check in (*checks.everything, *served):
            check(case, outcome)
    assert_workers_matter(faults_of(run, checks), checks)


@stage(11.5)
def test_training_is_right(run: Run, checks: StepChecks) -> None:
    """takes correct steps until an error stops it"""
    number = num_right_steps(CASES[3][0])
    seen = begun(run, CASES, runs_of(run), number, checks.training)
    assert_workers_matter(faults_in(run, *seen, checks.everything), checks)


@stage(3.75)
def test_all_but_the_gradients_are_sent(run: Run, checks: StepChecks) -> None:
    """takes correct steps with the server's data and models"""
    served = assert_examples_served, assert_models_served, *checks.training
    for case, outcome in runs_of(run, *served):
        for check in served:
            check(case, outcome)
    assert_models_matter(faults_of(run, checks), checks)


@stage(8)
def test_first_gradients_are_right(run: Run, checks: StepChecks) -> None:
    """sends correct first gradients before an error stops it"""
    data = checks.slice_sizes, checks.whole_batches, checks.only_workers
    asked = (*data, checks.one_start, checks.assert_own_gradients)
    case, outcome = begun(run, CASES, runs_of(run), 1, asked)
    assert_examples_served(case, outcome)
    assert_by_way_of_the_server(case, outcome)

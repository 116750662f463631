"""Parallel SGD: each rank learns from its own part, the average is taken once, at the end."""

from dataclasses import replace

import pytest

from grader.api import in_drawn_order, not_run, part, points, stage

from .digits_cases import assert_network_learns
from .psgd_cases import (
    APART,
    ENOUGH_RANKS,
    GROUPED_RANKS,
    MANY_RANKS,
    SEVERAL_RANKS,
    cases_of,
    of_real_length,
)
from .psgd_checks import (
    assert_come_together,
    assert_in_each_communicator,
    assert_mean,
    assert_parts_complete,
    assert_parts_disjoint,
    assert_plain_sgd_bit_for_bit,
    assert_sgd,
    assert_silent_meanwhile,
    assert_train_at_once,
    assert_whole,
    finished_in_real_size,
    gives_less_than_a_model,
    in_real_size,
    is_right_with_small_models,
)
from .psgd_contents import assert_weights_come_by_mpi, assert_weights_given
from .sources import Sources, assert_no_solver
from .training_cases import assert_given_model, assert_size

pytestmark = [part("psgd"), pytest.mark.mpi]

SOURCES = Sources(file="psgd.py")
CASES = {
    ranks: cases_of(ranks) + ((SOURCES,) if ranks == GROUPED_RANKS else ())
    for ranks in [1, *SEVERAL_RANKS, *MANY_RANKS]
}
REAL_LENGTH = of_real_length()
PARTS = ("values", "unequal parts")
"""Subjects of the cases that the parts of the data are looked at in."""


@points(0.25)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_parts_are_disjoint(run, ranks):
    """gives each rank its own, disjoint part of the data"""
    for subject in PARTS:
        for case, outcome in run(ranks, CASES[ranks]).having(subject=subject):
            assert_parts_disjoint(case, outcome)


def drawn_ranks(run):
    """Return on how many ranks messages are altered: where the training is right, the seed says."""
    held = [
        answer
        for ranks in ENOUGH_RANKS
        for answer in run(ranks, CASES[ranks]).having(subject="values").holding(assert_sgd)
    ]
    return in_drawn_order(held[0][1], held)[0][1].ranks


def real_length(run, ranks, subject):
    """Return a case like a run of main.py, on drawn ranks; none unless small models are right."""
    is_right = is_right_with_small_models(run, CASES)
    is_drawn = is_right and ranks == drawn_ranks(run)
    launch = run(ranks, REAL_LENGTH) if is_drawn else None
    return launch.having(subject=subject).ended_in_time() if launch else ()


@points(0.25)
@pytest.mark.parametrize("ranks", ENOUGH_RANKS)
def test_weights_of_all_ranks_come_together(run, ranks):
    """combines all ranks' weights on at least one rank"""
    values = run(ranks, CASES[ranks]).having(subject="values")
    for case, outcome in values:
        assert_come_together(case, outcome)
        assert_train_at_once(case, outcome)
    # Of another training nobody knows what its ranks have to give.
    for case, outcome in values.holding(assert_sgd):
        assert_weights_given(case, outcome)
        if ranks == drawn_ranks(run):
            assert_weights_come_by_mpi(run, case, outcome)
    for case, outcome in real_length(run, ranks, "length"):
        assert_whole(case.as_drawn(outcome), outcome)
    for case, outcome in real_length(run, ranks, "digits"):
        assert_network_learns(case, outcome)
    for case, outcome in finished_in_real_size(run, CASES, ranks):
        if gives_less_than_a_model(outcome):
            assert_come_together(case, outcome)


# Whoever trains on all data without a word to the others runs no parallel SGD.
@points(1, requires=(test_parts_are_disjoint, test_weights_of_all_ranks_come_together))
@pytest.mark.parametrize("ranks", ENOUGH_RANKS)
def test_each_rank_runs_sgd(run, ranks):
    """runs plain SGD on each rank, with the loss from training.py"""
    for case, outcome in run(ranks, CASES[ranks]).having(subject="values"):
        assert_sgd(case, outcome)
    for case, outcome in real_length(run, ranks, "length"):
        assert_sgd(case.as_drawn(outcome), outcome)


@points(0.5)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_parts_are_complete(run, ranks):
    """trains on every example once per epoch, across ranks"""
    for subject in PARTS:
        for case, outcome in run(ranks, CASES[ranks]).having(subject=subject):
            assert_parts_complete(case, outcome)


@points(0.75, requires=test_weights_of_all_ranks_come_together)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_every_rank_returns_the_mean(run, ranks):
    """returns the mean of all ranks' weights on every rank"""
    for case, outcome in run(ranks, CASES[ranks]).having(subject="values"):
        assert_mean(case, outcome)
    for case, outcome in in_real_size(run, CASES, ranks):
        assert_size(case, outcome)
        assert_whole(case, outcome)


@points(0.25, requires=test_weights_of_all_ranks_come_together)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_unequal_parts_count_equally(run, ranks):
    """counts every rank equally, whatever the size of its part"""
    for case, outcome in run(ranks, CASES[ranks]).having(subject="unequal parts"):
        assert_mean(case, outcome)


# Readers pay 84 % without it.
@points(0.75, requires=test_weights_of_all_ranks_come_together)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_all_ranks_start_from_rank_0s_weights(run, ranks):
    """starts every rank from rank 0's weights"""
    for case, outcome in run(ranks, CASES[ranks]).having(subject="start"):
        assert_come_together(case, outcome)


@points(2.25, requires=test_weights_of_all_ranks_come_together)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_nothing_is_exchanged_between_the_steps(run, ranks):
    """exchanges nothing between the first and the last step"""
    for subject in (*PARTS, "start"):
        for case, outcome in run(ranks, CASES[ranks]).having(subject=subject):
            assert_silent_meanwhile(case, outcome)
    for case, outcome in finished_in_real_size(run, CASES, ranks):
        assert_silent_meanwhile(case, outcome)
    for case, outcome in real_length(run, ranks, "length"):
        assert_silent_meanwhile(case.as_drawn(outcome), outcome)


@points(0.25, requires=test_weights_of_all_ranks_come_together)
@pytest.mark.parametrize("ranks", [1])
def test_one_rank_is_plain_sgd(run, ranks):
    """equals plain SGD on one rank, bit for bit"""
    for subject in PARTS:
        for case, outcome in run(ranks, CASES[ranks]).having(subject=subject):
            assert_sgd(case, outcome)
            assert_plain_sgd_bit_for_bit(case, outcome)


# A fair person pays 88 % where COMM_WORLD stands in place of comm.
@points(1.25, requires=test_weights_of_all_ranks_come_together)
@pytest.mark.parametrize("ranks", [GROUPED_RANKS])
def test_any_communicator(run, ranks):
    """trains correctly on the ranks of any communicator"""
    launch = run(ranks, CASES[ranks])
    is_right = bool(launch.having(subject="values").holding(assert_whole))
    for case, outcome in launch.having(subject="communicators"):
        assert_in_each_communicator(is_right, case, outcome)


@points(1, requires=test_weights_of_all_ranks_come_together)
@pytest.mark.parametrize("ranks", SEVERAL_RANKS)
def test_works_without_buffering(run, ranks):
    """works without message buffering"""
    for case, outcome in run(ranks, CASES[ranks]).having(subject="buffering"):
        assert_come_together(case, outcome)


@points(1, requires=test_weights_of_all_ranks_come_together)
@pytest.mark.parametrize("ranks", MANY_RANKS)
def test_many_ranks(run, ranks):
    """trains correctly on 8 and 16 ranks, without buffering"""
    for case, outcome in run(ranks, CASES[ranks]):
        assert_whole(case, outcome)


# Readers pay 90 % where the call returns something else.
@points(0.25, requires=test_weights_of_all_ranks_come_together)
@pytest.mark.parametrize("ranks", ENOUGH_RANKS)
def test_the_given_model_is_trained_and_returned(run, ranks):
    """trains and returns the given model"""
    for case, outcome in run(ranks, CASES[ranks]).having(subject="values"):
        assert_given_model(case, outcome, "psgd")


@points(0.25, requires=(test_each_rank_runs_sgd, test_weights_of_all_ranks_come_together))
@pytest.mark.parametrize("ranks", [GROUPED_RANKS])
def test_no_other_solver(run, ranks):
    """imports no model-training package other than torch"""
    assert_no_solver(run(ranks, CASES[ranks]))


@stage(4.25)
def test_ranks_train_apart(run):
    """trains every rank on its own part with plain SGD"""
    for case, outcome in run(3, (APART,)):
        assert_parts_disjoint(case, outcome)
        assert_parts_complete(case, outcome)
        assert_sgd(case, outcome)


@stage(4.25)
def test_ranks_train_in_turns(run):
    """trains correctly, but one rank after another"""
    for ranks in ENOUGH_RANKS:
        for case, outcome in run(ranks, CASES[ranks]).having(subject="values"):
            for check in (assert_parts_disjoint, assert_parts_complete, assert_sgd, assert_mean):
                check(case, outcome)
            assert_weights_given(case, outcome)
        assert_weights_come_by_mpi(run, case, outcome)
    # Here nobody knows beforehand what another rank's model multiplies by.
    for case, outcome in run(GROUPED_RANKS, CASES[GROUPED_RANKS]).having(subject="communicators"):
        assert_sgd(case, outcome)


@stage(4)
def test_ranks_take_no_step(run):
    """computes gradients on its own part, but takes no step"""
    for case, outcome in run(3, CASES[3]).having(subject="values"):
        assert_parts_disjoint(case, outcome)
        assert_parts_complete(case, outcome)
        assert_sgd(replace(case, lr=0.0), outcome)
        if gives_less_than_a_model(outcome):
            not_run("needs ranks that exchange their weights")
    for case, outcome in run(3, CASES[3]).having(subject="start"):
        assert_mean(replace(case, lr=0.0), outcome)

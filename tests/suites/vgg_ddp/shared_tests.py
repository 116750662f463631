"""The tests that parts on several ranks share; each part's suite says what they pay."""

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.api import Outcome, assert_at_once, case_context, not_run, take_turns

from .batches import assert_in_training_mode, assert_own_gradients
from .checks import (
    Check,
    Run,
    assert_all_hold,
    assert_holds_as_well,
    assert_holds_where_trained,
    assert_replicas_equal,
    assert_sgd_steps,
    assert_starts_equal,
    assert_steps_use_all,
    assert_steps_with_mean,
    assert_takes_time_of_training,
    require,
)
from .examples import assert_batch_sizes, assert_one_epoch, assert_shared_out
from .exchange import assert_something_given
from .later import Cases, assert_holds_later
from .proof import assert_steps_come_from_payloads
from .rules import assert_folders_created, assert_options_of_handout, assert_plain
from .steps import assert_trained
from .train_cases import NUM_PAUSED, epoch_of, first_batch_of, late_of
from .wide import assert_averaged_when_wide

_PASSES = ("paused_forward_ns", "paused_backward_ns")


def assert_trained_at_once(run: Run, cases: Cases) -> None:
    """Assert that ranks whose parameters stay equal compute at the same time, as a rule.

    In more than half of the iterations in which they pause: forward passes as well as backward
    passes. Raises RuleViolation.
    """
    for case, outcome in late_of(run(4, cases[4])).holding(assert_replicas_equal):
        with case_context(case, outcome):
            for spans_ns in _spans_in_turns(outcome):
                assert_at_once(spans_ns)


def _spans_in_turns(outcome: Outcome) -> list[list[NDArray[Any]]]:
    """Return the pauses of iterations in turns, of a pass with more of these than of others."""
    found = []
    for name in _PASSES:
        by_iteration = [np.array_split(spans, NUM_PAUSED) for spans in outcome[name]]
        in_turns = [each for each in zip(*by_iteration, strict=True) if take_turns(each)]
        found += in_turns if len(in_turns) > NUM_PAUSED / 2 else []
    return found


def assert_trained_in_turns(run: Run, cases: Cases, of_mean: Check) -> None:
    """Assert that ranks which compute their gradients in turns take right steps, also later."""
    for case, outcome in late_of(run(4, cases[4])):
        for check in (assert_replicas_equal, assert_sgd_steps, of_mean):
            check(case, outcome)
        if not _spans_in_turns(outcome):
            not_run("needs ranks that take turns")
    assert_all_hold(epoch_of(run(4, cases[4])), of_mean)


def shared_tests(
    cases: Cases,
    *,
    of_own: Check = assert_own_gradients,
    of_mean: Check = assert_steps_with_mean,
    given: Check = assert_something_given,
) -> SimpleNamespace:
    """Return the shared tests of a part, by their names.

    of_own, of_mean: what backward has to leave, and what a step has to use. given: that something
    is given to the operations of the part.
    """

    def test_ranks_start_equal(run):
        """starts all ranks with the same parameters"""
        assert_all_hold(first_batch_of(run(4, cases[4])), assert_starts_equal)

    def test_first_batches_are_different(run):
        """gives each rank different examples in its first batch"""
        assert_all_hold(first_batch_of(run(4, cases[4])), assert_shared_out)

    def test_step_uses_all_gradients(run):
        """uses all ranks' gradients equally in each step"""
        assert_all_hold(epoch_of(run(4, cases[4])), given, assert_steps_use_all)
        assert_steps_come_from_payloads(run, cases[4], assert_steps_use_all)
        assert_holds_later(run(4, cases[4]), assert_steps_use_all)
        assert_holds_later(run(4, cases[4]), given, where=assert_steps_use_all)
        assert_trained_at_once(run, cases)
        assert_averaged_when_wide(run(4, cases[4]))

    def test_replicas_stay_equal(run):
        """keeps the parameters of all ranks equal"""
        first = first_batch_of(run(4, cases[4]))
        require(first, assert_starts_equal, "the ranks do not start with equal parameters")
        assert_all_hold(epoch_of(run(4, cases[4])), assert_replicas_equal)
        assert_holds_later(run(4, cases[4]), assert_replicas_equal)

    def test_examples_are_shared_out(run):
        """uses no example twice in one epoch"""
        first = first_batch_of(run(4, cases[4]))
        require(first, assert_shared_out, "the first batches overlap")
        assert_all_hold(epoch_of(run(4, cases[4])), assert_shared_out)

    def test_batches_have_256_examples_in_all(run):
        """trains on batches of 256 examples across all ranks"""
        assert_all_hold(epoch_of(run(4, cases[4])), assert_batch_sizes)

    def test_backward_leaves_the_gradient_of_the_batch(run):
        """leaves the rank's own gradient in .grad after backward"""
        epoch = epoch_of(run(4, cases[4]))
        require(epoch, assert_plain, "DistributedDataParallel averages during backward")
        assert_all_hold(epoch, of_own)
        # When evaluation begins, it could be seen with some draws only.
        assert_holds_later(run(4, cases[4]), of_own, where=assert_in_training_mode)

    def test_step_uses_the_mean(run):
        """uses the mean of all ranks' gradients in each step"""
        assert_all_hold(epoch_of(run(4, cases[4])), of_mean)

    def test_each_step_is_sgd(run):
        """uses SGD (lr 0.1, momentum 0.9, weight decay 1e-4)"""
        assert_all_hold(epoch_of(run(4, cases[4])), assert_sgd_steps)
        assert_holds_later(run(4, cases[4]), assert_sgd_steps)

    def test_program_comes_to_its_end(run):
        """exits, with no rank left waiting"""
        assert_all_hold(run(4, cases[4]).having(extent="program"))

    def test_training_is_one_epoch(run):
        """trains for exactly one epoch, last batch included"""
        require(epoch_of(run(4, cases[4])), assert_shared_out, "some examples are used twice")
        assert_all_hold(run(4, cases[4]).having(extent="program"), assert_one_epoch)

    of_values = (
        assert_replicas_equal,
        assert_shared_out,
        assert_batch_sizes,
        of_own,
        assert_sgd_steps,
        of_mean,
    )

    def test_two_ranks(run):
        """also works on 2 ranks"""
        assert_holds_as_well(run(2, cases[2]), run(4, cases[4]), of_values)

    def test_one_rank(run):
        """also works on 1 rank"""
        assert_holds_as_well(run(1, cases[1]), run(4, cases[4]), of_values)

    def test_program_takes_its_time_for_training_only(run):
        """takes at most 6x the time of a plain training loop"""
        assert_takes_time_of_training(run, 2, cases[2])

    def test_options_are_spelt_as_in_the_handout(run):
        """spells its options as the handout does"""
        first = first_batch_of(run(4, cases[4]))
        require(first, assert_trained, "the grader saw no training on 4 ranks")
        assert_all_hold(first, assert_options_of_handout)

    def test_folders_are_created(run):
        """creates the folders that it writes to"""
        assert_holds_where_trained(run(4, cases[4]), assert_folders_created)

    return SimpleNamespace(**locals())

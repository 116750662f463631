"""The tests that both synchronous parts share; each part's suite says what they pay."""

from types import SimpleNamespace

import pytest

from grader.api import assert_at_once, assert_time_ratio, case_context, same_failures_as

from .fit_cases import TIME_FACTOR
from .handed_out import assert_no_rank_steps_for_others
from .summing import assert_arrays_not_pickled
from .sync_cases import (
    FEW_RANKS,
    FIRST_STEP,
    MANY_RANKS,
    SEVERAL_EPOCHS,
    SEVERAL_STEPS,
    STEPPING_RANKS,
    Cases,
    assert_batches,
    assert_batches_wherever_trained,
    assert_not_rounded,
    assert_rule,
    assert_trained_as_one_process,
    launch_of,
    standalone_cases,
    timing_cases,
)
from .sync_stages import assert_program_ends, assert_program_trains


def shared_tests(file: str, cases: Cases) -> SimpleNamespace:
    """Return the shared tests of a part, by their names."""

    @pytest.mark.parametrize("ranks", FEW_RANKS)
    def test_every_process_takes_the_summed_step(run, ranks):
        """matches serial training after one step; ranks take no turns"""
        for case, outcome in launch_of(run, cases, ranks, FIRST_STEP):
            assert_trained_as_one_process(case, outcome)
            if case.num_steps == 1:
                with case_context(case, outcome):
                    assert_no_rank_steps_for_others(case, outcome)
        several = run(ranks, cases[ranks]).having(group=SEVERAL_STEPS)
        for case, outcome in several.holding(assert_trained_as_one_process):
            with case_context(case, outcome):
                for spans_ns in (outcome["paused_ns"], outcome["paused_later_ns"]):
                    assert_at_once(spans_ns)
                    assert_at_once(spans_ns, outcome.trace)

    @pytest.mark.parametrize("ranks", STEPPING_RANKS)
    def test_several_steps(run, ranks):
        """matches serial training after several steps"""
        for case, outcome in launch_of(run, cases, ranks, SEVERAL_STEPS):
            assert_trained_as_one_process(case, outcome)

    @pytest.mark.parametrize("ranks", FEW_RANKS)
    def test_several_epochs(run, ranks):
        """matches serial training after several epochs"""
        for case, outcome in run(ranks, cases[ranks]).having(group=SEVERAL_EPOCHS):
            assert_trained_as_one_process(case, outcome)

    @pytest.mark.parametrize("ranks", MANY_RANKS)
    def test_many_processes(run, ranks):
        """matches serial training on many ranks (5, 8, and 16)"""
        for case, outcome in run(ranks, cases[ranks]).having(group=FIRST_STEP):
            assert_trained_as_one_process(case, outcome)

    def test_one_process(run):
        """works on 1 rank"""
        for case, outcome in launch_of(run, cases, 1, FIRST_STEP):
            assert_trained_as_one_process(case, outcome)

    def test_gradients_are_not_rounded(run):
        """keeps the gradients in float64, not float32"""
        assert_rule(run, cases, assert_not_rounded, assert_trained_as_one_process)

    @pytest.mark.parametrize("ranks", FEW_RANKS)
    def test_batches_are_shared_out(run, ranks):
        """divides each mini-batch among the ranks

        Each rank trains on number_of_batches batches of mini_batch_size // n examples per epoch.
        """
        assert_batches_wherever_trained(run, cases, ranks)

    def test_buffers_not_pickles(run):
        """sends arrays as buffers, not pickled"""
        assert_rule(run, cases, lambda case, outcome: assert_arrays_not_pickled(outcome.trace))

    def test_works_as_a_program_of_its_own(run):
        """trains as a standalone program"""
        assert_program_trains(run(3, standalone_cases(file), standalone=True))

    def test_ends_as_a_program_of_its_own(run):
        """finishes as a standalone program"""
        program = run(3, standalone_cases(file), standalone=True)
        assert_program_ends(program, run(3, cases[3]))

    def test_keeps_up_with_serial_training(run):
        """takes at most 15x the time of serial training"""
        assert_time_ratio(
            lambda attempt: run(2, timing_cases(file, attempt) if attempt else cases[2]),
            check=same_failures_as(run(2, cases[2]), assert_batches, assert_trained_as_one_process),
            factor=TIME_FACTOR,
            what="a fit on 2 ranks, 12 batches on layers 784-128-64-10,",
            yardstick="serial training on the same batches",
        )

    return SimpleNamespace(**locals())

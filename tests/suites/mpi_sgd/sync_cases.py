"""What both synchronous parts are called with, and what must come of it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from grader.api import (
    Finding,
    Launch,
    Outcome,
    RunFailure,
    Verdict,
    WrongAnswer,
    assert_every_rank,
    case_context,
    counted,
    found,
)

from . import serial
from .first_step import (
    assert_every_rank_has_all_gradients,
    assert_gradients_come_together,
    assert_weights_come_together,
)
from .fit_cases import (
    DRAWN_LENGTH,
    RTOL,
    Fit,
    assert_batch_size,
    assert_batches_vary,
    assert_own_batches,
    dropped_request,
    timed,
    trained_batches,
)
from .reasons_first import led_by
from .sync_mistakes import mistakes, unions

FEW_RANKS = [2, 3, 4]
MANY_RANKS = [5, 8, 16]
SEVERAL_RANKS = [*FEW_RANKS, *MANY_RANKS]
STEPPING_RANKS = [*FEW_RANKS, 8]
FIRST_STEP, SEVERAL_STEPS, SEVERAL_EPOCHS = "first step", "several steps", "several epochs"
UNBUFFERED = "unbuffered"
CLASS_NAME = "SynchronicNeuralNetwork"
_ATOL = 1e-11
_DRIFT = 1e-6
"""Float32 for the gradients changed 3e-7 at most in 630 steps; the order of sums far less."""
_RANKS_OF_LONG = 2
_RANKS_AT_ONCE = 4
_STEPS_OF_LONG = 160
_MOST_EPOCHS = 5

Cases = Mapping[int, tuple[Fit, ...]]
Run = Callable[..., Launch]
Check = Callable[[Fit, Outcome], None]


def cases_by_ranks(file: str, *, has_messages: bool) -> dict[int, tuple[Fit, ...]]:
    """Return all cases of one part for every number of ranks: one launch each.

    has_messages: it sends messages of its own, whose being stored it may rely on.
    """
    return {ranks: _cases(ranks, file, has_messages=has_messages) for ranks in [1, *SEVERAL_RANKS]}


def timing_cases(file: str, attempt: int) -> tuple[Fit, ...]:
    """Return yardsticks, then one fit that loads the student's file, then as many of theirs."""
    return (
        *timed(file, CLASS_NAME, 0, "yardstick", attempt),
        _first_step(file),
        *timed(file, CLASS_NAME, 0, "timing", attempt, SEVERAL_STEPS),
    )


def standalone_cases(file: str) -> tuple[Fit]:
    """Return the one case in which MPI.Init and MPI.Finalize are the real ones."""
    return (_fit(file, (6, 5, 4, 3), 3, 2, SEVERAL_EPOCHS),)


def launch_of(run: Run, cases: Cases, ranks: int, group: str) -> Launch:
    """Return the launch of a first step or of several; where a first step raises, of a hundred.

    A program that divides by a tenth of number_of_batches works with the batches of main.py.
    """
    return _longer(run, cases, ranks) or run(ranks, cases[ranks]).having(group=group)


def assert_trained_as_one_process(case: Fit, outcome: Outcome) -> None:
    """Assert that every rank ends as serial training on the union of all ranks' batches does.

    Gradients that are rounded to float32 are for another test. Raises WrongAnswer: names the array,
    and the mistake where it is a known one.
    """
    with case_context(case, outcome):
        batches = _batches_by_rank(case, outcome)
        for name, array in _trained_serially(case, outcome, batches).items():
            try:
                assert_every_rank(outcome[name], equals=array, name=name, rtol=_DRIFT, atol=_DRIFT)
            except WrongAnswer as error:
                ranks = range(outcome.ranks)
                found_on = (mistakes(case, outcome, batches, rank, name) for rank in ranks)
                known = next(filter(None, found_on), [_unlike_serial(error, name)])
                raise led_by(error, dropped_request(outcome), *known) from None


def assert_not_rounded(case: Fit, outcome: Outcome) -> None:
    """Assert that every rank ends as serial training in float64 does, but for the order of sums.

    Raises WrongAnswer.
    """
    for name, array in _trained_serially(case, outcome, _batches_by_rank(case, outcome)).items():
        try:
            assert_every_rank(outcome[name], equals=array, name=name, rtol=RTOL, atol=_ATOL)
        except WrongAnswer as error:
            rank = error.differences[0].rank
            text = f"Rank {rank}'s {name} is correct to few digits only; the gradients are float64."
            helps = "which of your arrays has another dtype?"
            raise led_by(
                error, found("sync.rounded", text, help=helps, rank=rank, name=name)
            ) from None


def _trained_serially(
    case: Fit, outcome: Outcome, batches: list[list[np.ndarray]]
) -> dict[str, serial.Vector]:
    start = outcome.inputs[0]["start"]
    trained = serial.train(start, case.sizes, case.learning_rate, unions(outcome, batches))
    return serial.unpacked(trained, case.sizes)


def assert_gradients_are_used(case: Fit, outcome: Outcome) -> None:
    """Assert that all ranks' gradients came together in one array of one rank at least.

    In a first step in any proportion, later where the training is correct.
    Raises WrongAnswer.
    """
    _assert_of_step(assert_gradients_come_together, case, outcome)


def assert_all_weights_are_used(case: Fit, outcome: Outcome) -> None:
    """Assert that they came together in all weights of every rank. Raises WrongAnswer."""
    _assert_of_step(partial(assert_weights_come_together, share=1.0), case, outcome)


def assert_half_of_weights_are_used(case: Fit, outcome: Outcome) -> None:
    """Assert the same of half of the weight arrays. Raises WrongAnswer."""
    _assert_of_step(partial(assert_weights_come_together, share=0.5), case, outcome)


def assert_every_rank_gets_all_gradients(case: Fit, outcome: Outcome) -> None:
    """Assert that they came together in every array of every rank, as in the above.

    Raises WrongAnswer.
    """
    _assert_of_step(assert_every_rank_has_all_gradients, case, outcome)


def assert_batches(case: Fit, outcome: Outcome) -> None:
    """Assert that each rank trained on number_of_batches batches of its share of the examples.

    Raises WrongAnswer with what a rank did instead.
    """
    share = case.mini_batch_size // outcome.ranks
    with case_context(case, outcome):
        for rank in range(outcome.ranks):
            trained, asked = len(trained_batches(case, outcome, rank)), case.num_steps
            if trained != asked:
                did = f"Rank {rank} trained on {counted(trained, 'batch', 'batches')}"
                text = f"{did}; expected number_of_batches x epochs = {asked}."
                raise WrongAnswer.of(
                    "sync.number_of_batches", text, rank=rank, trained=trained, expected=asked
                )
            formula = f"mini_batch_size // size = {case.mini_batch_size} // {outcome.ranks}"
            assert_batch_size(case, outcome, rank, share, formula)
        assert_batches_vary(case, outcome, range(outcome.ranks))


def assert_gradients_come_together_somewhere(
    run: Run, cases: Cases, used: Check, least_ranks: int
) -> None:
    """Assert that on so many ranks, and at most 4, a first step uses all ranks' gradients.

    used: says what that means. Raises what is wrong with the one on the fewest ranks.
    """
    launches = [launch_of(run, cases, ranks, FIRST_STEP) for ranks in FEW_RANKS]
    if not any(launch.holding(used) for launch in launches if launch.ranks >= least_ranks):
        for launch in launches:
            for case, outcome in launch:
                used(case, outcome)


def assert_stays_together(run: Run, cases: Cases) -> None:
    """Assert that all ranks end a long training alike where every short one is right.

    Where it is right too, so must be those of a drawn length. Other mistakes in later epochs, and
    receives that are not waited for, are for other tests. Raises WrongAnswer, RunFailed, and
    NotProven where a rank trains on batches that others may know.
    """
    short = [run(_RANKS_OF_LONG, cases[_RANKS_OF_LONG]).having(group=SEVERAL_STEPS)]
    others = [ranks for ranks in FEW_RANKS if ranks != _RANKS_OF_LONG]
    short += [run(ranks, cases[ranks]).having(group=SEVERAL_EPOCHS) for ranks in others]
    if not all(launch.holding(assert_trained_as_one_process) for launch in short):
        return
    long = run(_RANKS_OF_LONG, cases[_RANKS_OF_LONG]).having(group=SEVERAL_EPOCHS)
    for case, outcome in long.holding(lambda case, outcome: None):
        if not _are_alike(case, outcome) and not dropped_request(outcome):
            assert_trained_as_one_process(case, outcome)
    launches = [*short, long]
    right = [launch.holding(assert_trained_as_one_process) for launch in launches]
    if all(right) and not any(dropped_request(outcome) for each in right for _, outcome in each):
        for ranks in FEW_RANKS:
            drawn = run(ranks, cases[ranks]).having(purpose=DRAWN_LENGTH)
            for case, outcome in drawn.ended_in_time():
                assert_trained_as_long_as_drawn(case, outcome)
                with case_context(case, outcome):
                    assert_own_batches(case, outcome, range(outcome.ranks))


def assert_trained_as_long_as_drawn(case: Fit, outcome: Outcome) -> None:
    """Assert that a training of a drawn length ends as serial training does; raises WrongAnswer.

    Its trace is not looked at: some of its many calls may not be kept.
    """
    with case_context(case, outcome):
        batches = _batches_by_rank(case, outcome)
        for name, array in _trained_serially(case, outcome, batches).items():
            try:
                assert_every_rank(outcome[name], equals=array, name=name, rtol=_DRIFT, atol=_DRIFT)
            except WrongAnswer as error:
                given = outcome.inputs[0]
                epochs, batches = given["epochs"], given["number_of_batches"]
                text = f"This fit trained for {epochs} epochs of {batches} batches."
                length = found("sync.drawn_length", text, epochs=epochs, batches=batches)
                raise led_by(error, None, _unlike_serial(error, name), length) from None


def _are_alike(case: Fit, outcome: Outcome) -> bool:
    """Return whether all ranks ended with the same network."""
    names = serial.unpacked(outcome.inputs[0]["start"], case.sizes)
    return all(
        np.allclose(array, outcome[name][0], rtol=RTOL, atol=_ATOL)
        for name in names
        for array in outcome[name]
    )


def assert_batches_wherever_trained(run: Run, cases: Cases, ranks: int) -> None:
    """Assert the number and size of the batches of a first step, and of what else was answered.

    Raises WrongAnswer, and why there was no first step.
    """
    first = list(launch_of(run, cases, ranks, FIRST_STEP))
    others = run(ranks, cases[ranks]).having(purpose="values")
    for case, outcome in [*first, *others.holding(lambda case, outcome: None)]:
        assert_batches(case, outcome)


def assert_rule(
    run: Run, cases: Cases, rule: Check, used: Check = assert_every_rank_gets_all_gradients
) -> None:
    """Assert a rule on each training on several ranks that uses gradients, also a drawn long one.

    used: says what that means. A step with wrong factors counts; a rule is not about these. Nor
    is it judged by a long training whose calls were not all kept.
    """
    for ranks in SEVERAL_RANKS:
        ordinary = run(ranks, cases[ranks]).having(purpose="values", synchronous_sends=False)
        for launch in filter(None, [ordinary, _longer(run, cases, ranks)]):
            for case, outcome in launch.holding(used):
                with case_context(case, outcome):
                    rule(case, outcome)
    for ranks in FEW_RANKS:
        drawn = run(ranks, cases[ranks]).having(purpose=DRAWN_LENGTH)
        for case, outcome in drawn.holding(assert_trained_as_long_as_drawn):
            if not any(seen.truncated for seen in outcome.trace.ranks):
                with case_context(case, outcome):
                    rule(case.of_drawn_length(outcome), outcome)


def _longer(run: Run, cases: Cases, ranks: int) -> Launch | None:
    """Return a training of a hundred steps that was answered, where a first step raises."""
    first = run(ranks, cases[ranks]).having(group=FIRST_STEP)
    raises = any(
        isinstance(answer, RunFailure) and answer.verdict is Verdict.RUN_TIME_ERROR
        for _, answer in first.answers()
    )
    if ranks not in (1, *STEPPING_RANKS) or not raises:
        return None
    longer = run(ranks, (_fit(cases[ranks][0].file, (24, 22, 20), 100, 1, FIRST_STEP),))
    return longer if longer.holding(lambda case, outcome: None) else None


def _assert_of_step(check: Check, case: Fit, outcome: Outcome) -> None:
    if case.num_steps > 1:
        assert_trained_as_one_process(case, outcome)
        return
    with case_context(case, outcome):
        check(case, outcome)


def _batches_by_rank(case: Fit, outcome: Outcome) -> list[list[np.ndarray]]:
    batches = [trained_batches(case, outcome, rank) for rank in range(outcome.ranks)]
    numbers = [len(own) for own in batches]
    if not any(numbers):
        text = "No rank called forward_prop and back_prop on a batch of training_data."
        helps = "fit must train with these two methods of network.py"
        raise WrongAnswer.of("sync.no_training", text, help=helps)
    if len(set(numbers)) > 1:
        told = ", ".join(f"rank {rank}: {number}" for rank, number in enumerate(numbers))
        text = f"The ranks trained on different numbers of batches ({told})."
        helps = "every rank must train on number_of_batches batches in every epoch"
        raise WrongAnswer.of("sync.unequal_numbers_of_batches", text, help=helps, numbers=numbers)
    return batches


def _unlike_serial(error: WrongAnswer, name: str) -> Finding:
    rank = error.differences[0].rank
    text = f"Rank {rank} did not end with the {name} of serial training on the same batches."
    return found("sync.unlike_serial_training", text, rank=rank, name=name)


def _cases(ranks: int, file: str, *, has_messages: bool) -> tuple[Fit, ...]:
    first = _first_step(file)
    if ranks not in FEW_RANKS:
        steps = _fit(file, (6, 5, 4, 3), 2, 1, SEVERAL_STEPS)
        return (first, steps) if ranks in STEPPING_RANKS else (first,)
    # Some messages of the wide network are longer than what MPI stores of its own accord.
    steps = _fit(file, (64, 32, 10), 3, 1, SEVERAL_STEPS)
    steps = replace(steps, num_pauses=steps.num_steps if ranks == _RANKS_AT_ONCE else 0)
    # As many steps as main.py takes, on the ranks that need the least time for them.
    batches, epochs = (_STEPS_OF_LONG // 8, 8) if ranks == _RANKS_OF_LONG else (2, 2)
    many = _fit(file, (6, 5, 4, 3), batches, epochs, SEVERAL_EPOCHS)
    drawn = _of_drawn_length(file, ranks)
    unbuffered = [_fit(file, (5, 3), 2, 1, UNBUFFERED)] if has_messages else []
    if ranks > 2:
        return (first, steps, many, drawn, *unbuffered)
    return (
        first,
        *timed(file, CLASS_NAME, 0, "yardstick", 0),
        steps,
        *timed(file, CLASS_NAME, 0, "timing", 0, SEVERAL_STEPS),
        many,
        drawn,
        *unbuffered,
    )


def _of_drawn_length(file: str, ranks: int) -> Fit:
    """Return a training of up to as many steps as an epoch of main.py, of fewer on 3 or 4 ranks."""
    least, most = (_STEPS_OF_LONG, 126) if ranks == _RANKS_OF_LONG else (12, 12)
    case = _fit(file, (6, 5, 4, 3), most, _MOST_EPOCHS, "")
    return replace(case, subject=SEVERAL_STEPS, purpose=DRAWN_LENGTH, least_steps=least)


def _first_step(file: str) -> Fit:
    """Return the case whose every array has more elements than there are ranks."""
    return _fit(file, (24, 22, 20), 1, 1, FIRST_STEP)


def _fit(file: str, sizes: tuple[int, ...], number_of_batches: int, epochs: int, group: str) -> Fit:
    return Fit(
        "fit",
        group == UNBUFFERED,
        # What does not get through a second step does not get through a second epoch.
        subject=SEVERAL_STEPS if group == SEVERAL_EPOCHS else group,
        file=file,
        class_name=CLASS_NAME,
        sizes=sizes,
        number_of_batches=number_of_batches,
        epochs=epochs,
        mini_batch_size=16,
        group=group,
    )

"""Whether what holds for the first steps of a training holds for later ones too."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from grader.api import Launch, Outcome, WrongAnswer, case_context, found, holds

from .checks import Check, Run, naming_case
from .steps import num_steps
from .train_cases import Printing, Training, epoch_of, late_of

Cases = Mapping[int, tuple[Training, ...]]
_OF_STEPS = (
    *("local", "used", "parameters", "through_ddp", "is_wrapped", "in_training"),
    *("num_reduced", "given", "batch_sizes"),
)
"""The results that have one row for each step."""


def assert_holds_later(launch: Launch, check: Check, *, where: Check | None = None) -> None:
    """Assert a check of later steps too, where it holds for the first. Raises what it raises.

    Not where the run has failed, or a rank took no later step: how far a program comes is the
    matter of other tests, and how many steps come first is drawn. where: what else has to hold of
    the later steps, or they are not judged. A rank that computes later gradients and takes no step
    of an optimizer with them raises WrongAnswer.
    """
    if not epoch_of(launch).holding(check):
        return
    late = late_of(launch)
    for case, outcome in late.answers():
        if isinstance(outcome, Outcome):
            _assert_steps_follow(case, outcome)
    for case, outcome in late.holding(where) if where else late.answers():
        if isinstance(outcome, Outcome) and all(map(len, outcome["batch_sizes"])):
            _assert_holds(naming_case(check), case, outcome, outcome.inputs[0]["num_earlier_steps"])


def assert_kept_to(run: Run, cases: Cases, rule: Check, *, where: Check) -> None:
    """Assert a rule on 4 and 2 ranks, and in later steps where it holds for the first.

    where: what else has to hold of the first steps, or the rule is not judged there. Raises what
    the rule raises.
    """
    for ranks in (4, 2):
        for case, outcome in epoch_of(run(ranks, cases[ranks])).holding(where):
            naming_case(rule)(case, outcome)
    assert_holds_later(run(4, cases[4]), rule)


def assert_all_steps_hold(first: Launch, printing: Launch, check: Check) -> None:
    """Assert a check of all steps of a long run, where it holds for the first ones.

    first, printing: of the trainings, and of the long run. Not where that has failed, or where its
    steps were not kept. Raises what the check raises.
    """
    if epoch_of(first).holding(check):
        for case, outcome in _kept(printing):
            naming_case(check)(case, outcome)


def assert_drawn_step_holds(first: Launch, printing: Launch, check: Check, *, where: Check) -> None:
    """Assert the same of a step that is drawn, the only one whose images are known.

    Not where the training ends before. where: as of assert_holds_later. Raises what the check
    raises.
    """
    if not epoch_of(first).holding(check):
        return
    for case, outcome in _kept(printing):
        with case_context(case, outcome):
            number = outcome.inputs[0]["drawn_step"]
            if number < num_steps(case, outcome):
                of_step = _of_steps(outcome, number, number + 1)
                if holds(where, case, of_step):
                    _assert_holds(check, case, of_step, number)


def _assert_steps_follow(case: Training, outcome: Outcome) -> None:
    earlier = outcome.inputs[0]["num_earlier_steps"]
    for rank, counts in enumerate(outcome["counts"]):
        _, num_backward, num_taken = counts.tolist()
        if num_taken <= earlier < num_backward - 1:
            text = f"Rank {rank} called backward {num_backward} times, but an optimizer's step() "
            text += f"only {num_taken} times."
            facts = {"rank": rank, "backward": num_backward, "steps": num_taken}
            with case_context(case, outcome):
                raise WrongAnswer.of("training.steps_missing", text, help="", **facts)


def _kept(printing: Launch) -> list[tuple[Printing, Outcome]]:
    """Return the long run with the kept steps of its first epoch, if it has come to its end.

    That there is no second epoch is for another test. Steps are kept until numbers are not finite;
    raises WrongAnswer if later losses are.
    """
    kept = []
    for case, outcome in printing.answers():
        if isinstance(outcome, Outcome):
            number = min(case.num_full_batches + 1, *map(len, outcome["parameters"]))
            kept += [(case, _of_steps(outcome, 0, number))] if number else []
            losses = outcome["losses"][0][: case.num_full_batches + 1]
            if number and np.isfinite(losses[number + 1 :]).any():
                text = f"In iteration {number}, gradients or parameters are not finite, but later "
                text += "losses are."
                with case_context(case, outcome):
                    raise WrongAnswer.of("training.losses_without_steps", text, iteration=number)
    return kept


def _of_steps(outcome: Outcome, begin: int, end: int) -> Outcome:
    """Return what was seen of some steps, as if of a training of its own."""
    results = []
    for result in outcome.results:
        of_steps = {name: result[name][begin:end] for name in _OF_STEPS}
        first, last = (int(result["batch_sizes"][:number].sum()) for number in (begin, end))
        start = result["parameters"][begin - 1] if begin else result["start"]
        examples = result["examples"][first:last]
        results.append({**result, **of_steps, "examples": examples, "start": start})
    inputs = tuple({**given, "drawn_step": given["drawn_step"] - begin} for given in outcome.inputs)
    return replace(outcome, inputs=inputs, results=tuple(results))


def _assert_holds(check: Check, case: Training | Printing, outcome: Outcome, number: int) -> None:
    """Assert a check of later steps; number: which iteration of the program is their first."""
    try:
        check(case, outcome)
    except WrongAnswer as error:
        text = f"Here, iteration 0 is the program's iteration {number}."
        later = found("training.later_iterations", text, number=number)
        raise error.followed_by(later) from None

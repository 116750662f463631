"""The rules of the SGD parts about what travels, as checks of a run."""

from collections.abc import Collection

from grader.api import Outcome, case_context

from .gathering import assert_gives, assert_gives_once, assert_server_gives, assert_star
from .sgd_cases import num_steps_of
from .training_cases import Training, counted


def assert_gradients_given(case: Training, outcome: Outcome, ranks: Collection[int]) -> None:
    """Assert that these ranks gave others a model's worth of numbers for each step they took."""
    number = num_steps_of(outcome)
    with case_context(case, outcome):
        assert_gives(outcome.trace, ranks, number, what=f"gradients of {_steps(number)}")


def assert_gradients_given_once(case: Training, outcome: Outcome) -> None:
    """Assert that each worker gives its gradients away once a step, and little besides."""
    number = num_steps_of(outcome)
    with case_context(case, outcome):
        workers = range(1, outcome.ranks)
        assert_gives_once(outcome.trace, workers, number, what=f"gradients of {_steps(number)}")


def assert_served(case: Training, outcome: Outcome) -> None:
    """Assert that the server gives each worker its examples and, in every step, the model."""
    number = num_steps_of(outcome)
    with case_context(case, outcome):
        examples = {rank: len(outcome["rows"][rank]) for rank in range(1, outcome.ranks)}
        assert_server_gives(outcome.trace, examples, number, when=_steps(number))


def assert_by_way_of_the_server(case: Training, outcome: Outcome) -> None:
    """Assert that workers, or clients, talk with the server only."""
    with case_context(case, outcome):
        assert_star(outcome.trace)


def _steps(number: int) -> str:
    return counted(number, "step", "steps")

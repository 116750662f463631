"""The rules of the SGD parts about what travels, as checks of a run."""

from collections.abc import Collection

from grader.api import Outcome, RuleViolation, case_context, counted

from .gathering import (
    assert_gives,
    assert_gives_once,
    assert_server_gives,
    assert_star,
    averaging_root,
)
from .image_contents import assert_images_given
from .sgd_cases import num_steps_of
from .training_cases import Training


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


def assert_examples_served(case: Training, outcome: Outcome) -> None:
    """Assert that the server gives each worker its examples, and the models it computes with."""
    with case_context(case, outcome):
        examples = {rank: len(outcome["rows"][rank]) for rank in range(1, outcome.ranks)}
        seen = (outcome["seen"][rank] for rank in examples)
        number = min(int((each[1:] != each[:-1]).any(axis=1).sum()) for each in seen)
        assert_server_gives(outcome.trace, examples, number, when=_steps(number))
        assert_images_given(outcome.trace, examples, outcome.inputs[0]["images"])


def assert_models_served(case: Training, outcome: Outcome) -> None:
    """Assert that in every step each worker gets the model, and goes on with none of its own."""
    number = num_steps_of(outcome)
    with case_context(case, outcome):
        workers = range(1, outcome.ranks)
        for rank in workers:
            if taken := int(outcome["optimizer_steps"][rank][0]):
                text = f"Rank {rank}, a worker, took {_steps(taken)} with its own optimizer."
                helps = "only the server may take steps; it must send the new model to the workers"
                facts = {"rank": rank, "number": taken}
                raise RuleViolation.of("worker.steps_itself", text, help=helps, **facts)
        assert_server_gives(outcome.trace, dict.fromkeys(workers, 0), number, when=_steps(number))


def assert_every_rank_steps(case: Training, outcome: Outcome) -> None:
    """Assert that no rank's optimizer steps for the others, as a server's does."""
    if (rank := lone_stepper(outcome)) is not None:
        text = f"Only rank {rank} called its optimizer's step(), so it acts as a server."
        helps = "without a server, every rank must take each step with the averaged gradients"
        with case_context(case, outcome):
            raise RuleViolation.of("serverless.one_rank_steps", text, help=helps, rank=rank)


def lone_stepper(outcome: Outcome) -> int | None:
    """Return the only rank that stepped where several computed gradients; None where not."""
    stepping = [rank for rank, number in enumerate(outcome["num_steps"]) if number[0]]
    num_computing = sum(len(lengths) > 0 for lengths in outcome["rows_per_batch"])
    return stepping[0] if num_computing > 1 and len(stepping) == 1 else None


def assert_no_rank_averages_alone(case: Training, outcome: Outcome) -> None:
    """Assert that no rank gathers all gradients and averages them for the others."""
    if (root := averaging_root(outcome.trace, num_steps_of(outcome))) is not None:
        text = f"Rank {root} gathered all gradients and sent the others what it made of them, as "
        text += "a server does."
        helps = "without a server, the ranks must sum the gradients with an all-reduce"
        with case_context(case, outcome):
            raise RuleViolation.of("serverless.root_averages", text, help=helps, rank=root)


def assert_by_way_of_the_server(case: Training, outcome: Outcome) -> None:
    """Assert that workers, or clients, talk with the server only."""
    with case_context(case, outcome):
        assert_star(outcome.trace)


def _steps(number: int) -> str:
    return counted(number, "step")

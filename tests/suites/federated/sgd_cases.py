"""The cases of the three scripts that train by SGD, and what is judged of a run."""

from collections.abc import Mapping, Sequence

from grader.model import Outcome
from grader.suite.wording import case_context

from .gathering import assert_gives, assert_gives_once, assert_server_gives
from .steps import BATCH_SIZE, NUM_EPOCHS, assert_shares, assert_steps
from .training_cases import Trained, Training


def cases_of(
    file: str, num_training_by_ranks: Mapping[int, int], *, is_timed: bool
) -> dict[int, tuple[Training, ...]]:
    """Return what is run on each number of ranks.

    num_training_by_ranks: how many training examples, multiples of the batch size.
    is_timed: on 2 ranks, the runs to be timed are among it.
    """
    return {
        ranks: (
            Training("train", file=file, num_training=number),
            *(timing_cases(file, 0) if is_timed and ranks == 2 else ()),
        )
        for ranks, number in num_training_by_ranks.items()
    }


def timing_cases(file: str, attempt: int) -> list[Training]:
    """Return runs of the script and of serial training, in turn, to be timed."""
    return [
        Training(
            "serial_training" if purpose == "yardstick" else "train",
            file=file,
            num_training=BATCH_SIZE,
            purpose=purpose,
            number=10 * attempt + number,
        )
        for number in range(3 if attempt else 2)
        for purpose in ("yardstick", "timing")
    ]


def num_steps_of(case: Training) -> int:
    """Return how many steps the script takes: one for each batch of each epoch."""
    return NUM_EPOCHS * case.num_training // BATCH_SIZE


def assert_trained(
    case: Training, outcome: Outcome, computing: Sequence[int], holders: Sequence[int]
) -> None:
    """Assert that the models of `holders` are those of one process's training."""
    with case_context(case, outcome):
        assert_steps(Trained(case, outcome), computing, holders)


def assert_shared_out(case: Training, outcome: Outcome, computing: Sequence[int]) -> None:
    """Assert that each computing rank took its own share of each batch."""
    with case_context(case, outcome):
        assert_shares(Trained(case, outcome), computing)


def assert_gradients_sent(case: Training, outcome: Outcome, ranks: Sequence[int]) -> None:
    """Assert that these ranks gave others a model's worth of numbers for each step."""
    num_steps = num_steps_of(case)
    with case_context(case, outcome):
        assert_gives(outcome.trace, ranks, num_steps, what=f"gradients of {num_steps} steps")


def assert_served(case: Training, outcome: Outcome) -> None:
    """Assert that the server gives each worker its examples and, in every step, the model."""
    num_steps = num_steps_of(case)
    with case_context(case, outcome):
        examples = {rank: len(outcome["rows"][rank]) for rank in range(1, outcome.ranks)}
        assert_server_gives(outcome.trace, examples, num_steps, when="steps")


def assert_sent_once(case: Training, outcome: Outcome) -> None:
    """Assert that each worker gives its gradients away once a step, and little besides."""
    num_steps = num_steps_of(case)
    with case_context(case, outcome):
        workers = range(1, outcome.ranks)
        assert_gives_once(outcome.trace, workers, num_steps, what=f"gradients of {num_steps} steps")

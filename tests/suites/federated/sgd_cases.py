"""The cases of the scripts that train by SGD, and what is asked of a run as checks of a suite."""

import contextlib
from collections.abc import Callable, Mapping, Sequence

from grader.api import Outcome, WrongAnswer, case_context, holds

from . import lenet
from .answered import Check
from .contents import assert_contents, may_be_beside
from .gathering import SERVER
from .sgd_steps import assert_cleared, assert_sgd
from .slices import (
    BATCH_SIZE,
    NUM_EPOCHS,
    assert_epochs,
    assert_only,
    assert_slice_sizes,
    assert_whole_batches,
)
from .step_checks import (
    assert_divided,
    assert_every_parameter,
    assert_model_kept,
    assert_one_model,
    assert_one_start,
    assert_reduced_in_time,
    assert_steps_use_all,
    assert_summed,
    assert_workers_follow,
    ranks_used_by_others,
)
from .step_contents import expected_of_steps, factors_of_steps, models_of_server
from .steps import Steps, assert_gradients_computed
from .training_cases import Trained, Training


def cases_of(
    file: str, num_training_by_ranks: Mapping[int, int]
) -> dict[int, tuple[Training, ...]]:
    """Return what is run on each number of ranks.

    num_training_by_ranks: how many training examples, multiples of the batch size.
    """
    return {
        ranks: (Training("train", file=file, num_training=number, num_givers=ranks - 1),)
        for ranks, number in num_training_by_ranks.items()
    }


def timing_cases(file: str, attempt: int) -> list[Training]:
    """Return runs of the script and of serial training, in turn, to be timed."""
    return [
        Training(
            "serial_training" if purpose == "yardstick" else "train",
            subject="time",
            file=file,
            num_training=BATCH_SIZE,
            purpose=purpose,
            number=10 * attempt + number,
        )
        for number in range(3 if attempt else 2)
        for purpose in ("yardstick", "timing")
    ]


LEAST_CHANGE = lenet.LEARNING_RATE / (2 * BATCH_SIZE)
"""Half of what a step changes a parameter by whose gradient changed by 1 for one example of all."""


class StepChecks:
    """What is asked of runs in which ranks compute gradients: each attribute is one check.

    What is found out about the steps of an outcome is kept: many questions are asked of each.
    """

    def __init__(self, *, has_server: bool) -> None:
        """has_server: rank 0 steps for the others, and computes no gradients."""
        self._has_server = has_server
        self._steps: dict[int, Steps] = {}
        self.slice_sizes = self._of_data(assert_slice_sizes)
        self.whole_batches = self._of_data(assert_whole_batches)
        self.epochs = self._of_data(assert_epochs)
        self.only_workers = self._of_data(assert_only)
        self.one_start = self._of_steps(assert_one_start)
        self.summed = self._of_holders(assert_summed)
        self.divided = self._of_holders(assert_divided)
        self.steps_use_all = self._of_all(assert_steps_use_all)
        self.every_parameter = self._of_holders(assert_every_parameter)
        self.sgd = self._of_holders(assert_sgd)
        self.cleared = self._of_holders(assert_cleared)
        self.in_time = self._of_holders(assert_reduced_in_time)
        self.one_model = self._of_steps(assert_one_model)
        self.workers_follow = self._of_steps(assert_workers_follow)
        self.model_kept = self._of_holders(assert_model_kept)

        data = (self.slice_sizes, self.whole_batches, self.one_start)
        self.first_step: tuple[Check, ...] = (
            *data,
            self.summed,
            self.divided,
            self.every_parameter,
        )
        """What is asked of runs that were ended after a step."""
        follow = (self.only_workers, self.workers_follow)
        alike = (self.steps_use_all, self.one_model)
        rest = (self.epochs, self.sgd, *(follow if has_server else alike))
        self.training: tuple[Check, ...] = (*self.first_step, *rest)
        """What makes a training that of one process, whatever is called `model` after it."""
        self.everything = (*self.training, self.model_kept)

    def computing(self, outcome: Outcome) -> range:
        """Return the ranks that are to compute gradients."""
        return range(int(self._has_server), outcome.ranks)

    def ranks_used_by_others(self, case: Training, outcome: Outcome) -> frozenset[int]:
        """Return the ranks whose gradients changed the model of another."""
        return ranks_used_by_others(self._steps_of(case, outcome), self._holders(outcome))

    def assert_contents(self, case: Training, outcome: Outcome) -> None:
        """Assert that ranks give others their gradients, or what follows from these, by samples.

        All that compute, in the first steps; without a server, one may give what came of all. Where
        the training is wrong, one of them once, and nothing where even the first step follows from
        other gradients, or numbers are not finite. Raises NotProven.
        """
        is_right = all(holds(check, case, outcome) for check in self.training)
        if not is_right and not holds(self.summed, case, outcome):
            return
        with contextlib.suppress(WrongAnswer):
            self._assert_given(
                case, outcome, is_right, self._num_givers(outcome) if is_right else 1
            )

    def assert_own_gradients(self, case: Training, outcome: Outcome) -> None:
        """Assert that ranks give others their own gradients, by samples. Raises NotProven.

        All that compute; without a server, one may give what came of all.
        """
        self._assert_given(case, outcome, is_right=True, least=self._num_givers(outcome))

    def _num_givers(self, outcome: Outcome) -> int:
        return len(self.computing(outcome)) - (0 if self._has_server else 1)

    def _assert_given(self, case: Training, outcome: Outcome, is_right: bool, least: int) -> None:
        with case_context(case, outcome):
            steps = self._steps_of(case, outcome)
            assert_contents(
                outcome.trace,
                steps.computing,
                lambda rank: expected_of_steps(steps, rank),
                factors_of_steps(steps),
                is_right=is_right,
                least=least,
            )

    def assert_models_given(self, case: Training, outcome: Outcome) -> None:
        """Assert that the server gives the models that its first steps lead to, by samples.

        Nothing where the training is wrong, or the model may be in a message with the examples.
        Raises NotProven.
        """
        if all(holds(check, case, outcome) for check in self.training):
            with case_context(case, outcome):
                steps = self._steps_of(case, outcome)
                given = models_of_server(steps)
                if not may_be_beside(outcome.trace, SERVER):
                    assert_contents(
                        outcome.trace, [SERVER], lambda _: given, [1.0], is_right=True, least=1
                    )

    def _holders(self, outcome: Outcome) -> Sequence[int]:
        """Return the ranks whose model has to be the trained one at the end."""
        return [0] if self._has_server else range(outcome.ranks)

    def _steps_of(self, case: Training, outcome: Outcome) -> Steps:
        if id(outcome) not in self._steps:
            ranks = self.computing(outcome)
            # Without a server, a rank 0 that only collects is taken for one.
            is_idle = len(ranks) == outcome.ranks > 1 and not outcome["rows_per_batch"][0].size
            steps = Steps(Trained(case, outcome), ranks[1:] if is_idle else ranks)
            self._steps[id(outcome)] = steps
        return self._steps[id(outcome)]

    def _of_data(self, question: Callable[[Trained, Sequence[int]], None]) -> Check:
        def check(case: Training, outcome: Outcome) -> None:
            with case_context(case, outcome):
                question(Trained(case, outcome), self.computing(outcome))

        return check

    def _of_steps(self, question: Callable[[Steps], None]) -> Check:
        def check(case: Training, outcome: Outcome) -> None:
            with case_context(case, outcome):
                question(self._steps_of(case, outcome))

        return check

    def _of_all(self, question: Callable[[Steps, Sequence[int]], None]) -> Check:
        def check(case: Training, outcome: Outcome) -> None:
            with case_context(case, outcome):
                assert_gradients_computed(Trained(case, outcome), self.computing(outcome))
            self._of_holders(question)(case, outcome)

        return check

    def _of_holders(self, question: Callable[[Steps, Sequence[int]], None]) -> Check:
        return self._of_steps(lambda steps: question(steps, self._holders(steps.trained.outcome)))


def num_steps_of(outcome: Outcome) -> int:
    """Return how many gradients the ranks computed, the fewest of those that computed any."""
    counts = [len(lengths) for lengths in outcome["rows_per_batch"]]
    return min((count for count in counts if count), default=0)


def num_right_steps(case: Training) -> int:
    """Return how many steps the script is to take: one for each batch of each epoch."""
    return NUM_EPOCHS * case.num_training // BATCH_SIZE

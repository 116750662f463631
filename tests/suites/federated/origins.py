"""Whether training comes from the messages: some are altered on their way, and what follows?"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from grader.api import (
    FaultEffect,
    Launch,
    MessageFault,
    NotProven,
    Outcome,
    RuleViolation,
    WrongAnswer,
    assert_messages_matter,
    case_context,
    every_message_fault,
    holds,
    inject_faults,
    sends_of,
)

from . import lenet
from .gathering import given_num_bytes
from .training_cases import Training

Check = Callable[[Training, Outcome], None]
Run = Callable[..., Launch]

_LARGEST_ARRAY = 0.7
"""The part of a model, at least, that its largest array makes up."""


@dataclass(frozen=True)
class Faults:
    """What a run led to once the longer messages of one rank after the other were altered."""

    case: Training
    outcome: Outcome
    messages: Sequence[MessageFault]
    """What was altered: the longer messages of a rank."""
    inject: Callable[[Sequence[MessageFault]], Sequence[FaultEffect]]

    def effects(self) -> Iterator[FaultEffect]:
        """Yield what each alteration led to.

        The first is tried on its own: mostly it says enough, and the others can wait for a test
        that asks about each of them.
        """
        for some in filter(None, (self.messages[:1], self.messages[1:])):
            yield from self.inject(some)

    def assert_some_matter(
        self, givers: Collection[int], least: int, others: Callable[[], bool]
    ) -> None:
        """Assert that what the givers computed came to others by MPI, and changed something there.

        least: how many of them have to give something of a model's size. others: whether it changed
        something as far as the numbers tell; asked where all went by collectives, which are not
        altered. Raises RuleViolation, NotProven.
        """
        with case_context(self.case, self.outcome):
            trace = self.outcome.trace
            given = {rank: given_num_bytes(trace, rank) for rank in givers}
            silent = [rank for rank in givers if given[rank] < lenet.MODEL_NUM_BYTES // 2]
            if len(givers) - len(silent) < least:
                raise RuleViolation(
                    f"rank {silent[0]} gives the other ranks {given[silent[0]]:,} bytes in the "
                    f"whole training; its gradients, or its model, are {lenet.MODEL_NUM_BYTES:,} "
                    "bytes each time"
                )
            by_givers = []
            for effect in self.effects():
                if effect.message.rank in givers:
                    if effect.happened and effect.influenced:
                        return
                    by_givers.append(effect)
            assert_messages_matter(trace, by_givers) if by_givers else None
            if not others():
                raise NotProven(
                    "nothing shows that what a rank computes changes the model of another; "
                    "a person should look"
                )

    def holds_without(self, check: Check) -> bool:
        """Return whether a check holds for the run without alterations."""
        return holds(check, self.case, self.outcome)

    def assert_each_matters(self, senders: Iterable[int], num_times: int) -> None:
        """Assert that each of these senders' messages had an effect, if they carry its models.

        num_times: how many models, or gradients, each of them has to give. Who gives its models to
        collectives is not looked at. Raises NotProven.
        """
        chosen = [
            effect
            for effect in self.effects()
            if effect.message.rank in senders
            and _long_num_bytes(self.outcome, effect.message)
            >= _LARGEST_ARRAY * num_times * lenet.MODEL_NUM_BYTES
        ]
        if chosen:
            with case_context(self.case, self.outcome):
                assert_messages_matter(self.outcome.trace, chosen)


def faults_in(run: Run, case: Training, outcome: Outcome, checks: Sequence[Check]) -> Faults:
    """Have the longer messages of each rank altered in a run of their own.

    What trains otherwise than before, of the same inputs, has been influenced. A script that never
    trains twice alike is judged by which of the checks that held go wrong.
    """
    again = replace(case, inputs_seed=outcome.inputs[0]["seed"])

    def check_same(_: Training, altered: Outcome) -> None:
        assert_same_run(outcome, altered)

    @cache
    def held() -> Sequence[Check]:
        return [check for check in checks if holds(check, case, outcome)]

    def check_held(altered_case: Training, altered: Outcome) -> None:
        for check in held():
            check(altered_case, altered)

    trains_alike = True

    def inject(messages: Sequence[MessageFault]) -> Sequence[FaultEffect]:
        nonlocal trains_alike
        if trains_alike:
            try:
                return inject_faults(run, outcome.ranks, again, outcome, messages, check_same)
            except WrongAnswer:
                trains_alike = False
        return inject_faults(run, outcome.ranks, case, outcome, messages, check_held)

    return Faults(case, outcome, tuple(_faults(outcome)), inject)


def assert_same_run(before: Outcome, outcome: Outcome) -> None:
    """Assert that two runs trained on the same batches, with the same models but for rounding.

    What was made of gradients or models, and then not used, is compared as well.
    Raises WrongAnswer with the first rank of which that is not so.
    """
    for rank in range(before.ranks):
        for name in ("rows", "seen", "model", "gradient", "aggregate"):
            one, other = before[name][rank], outcome[name][rank]
            if one.shape != other.shape or not np.allclose(
                one, other, rtol=1e-6, atol=1e-8, equal_nan=True
            ):
                raise WrongAnswer(f"rank {rank} trained another model than it did before")


def _faults(outcome: Outcome) -> Iterable[MessageFault]:
    """Yield an alteration of all longer messages of each rank that sends any.

    Of the longer ones, since a length or a loss may be of use to nobody. A server comes last, whose
    messages say nothing of what the others compute.
    """
    for rank in reversed(range(outcome.ranks)):
        lengths = [call.num_bytes for call in sends_of(outcome.trace, rank)]
        least = min(max(lengths, default=0) // 2, lenet.MODEL_NUM_BYTES // 4)
        if least >= lenet.MODEL_NUM_BYTES // 100:
            yield from every_message_fault(outcome, [rank], min_num_bytes=least)


def _long_num_bytes(outcome: Outcome, message: MessageFault) -> int:
    lengths = [call.num_bytes for call in sends_of(outcome.trace, message.rank)]
    return sum(length for length in lengths if length >= message.min_num_bytes)

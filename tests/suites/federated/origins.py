"""Whether models come from the messages: some are altered on their way, and training goes wrong."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from grader.judge.alterations import every_message_fault
from grader.judge.causality import assert_messages_matter
from grader.judge.counting import sends_of
from grader.model import AlteredMessage, Outcome
from grader.suite.altering import inject_faults

from . import lenet
from .training_cases import Training

ALTERED_RANKS = 3
_LARGEST_ARRAY = 0.7
"""The part of a model, at least, that its largest array makes up."""


def assert_models_come_from_messages(
    run: Callable[..., Any],
    cases: Sequence[Training],
    ranks: int,
    senders: Iterable[int],
    num_times: int,
    check: Callable[[Training, Outcome], object],
) -> None:
    """Assert that training goes wrong once the longer messages of one of `senders` are altered.

    cases: the part is called with them on so many ranks, the first of them here. num_times: how
    many models, or gradients, each of the senders has to give. check: raises WrongAnswer where
    training went wrong. Collectives are not altered: whoever gives its models to those is not
    looked at. Raises NotProven.
    """
    case, outcome = next(iter(run(ranks, cases)))
    messages = tuple(_alterations(outcome, senders, num_times))
    if messages:
        effects = inject_faults(run, ranks, case, outcome, messages, check)
        assert_messages_matter(outcome.trace, effects)


def _alterations(
    outcome: Outcome, senders: Iterable[int], num_times: int
) -> Iterable[AlteredMessage]:
    """Yield an alteration of all longer messages, for each sender that needs them for its models.

    What is sent once at the end, say, may be of use to nobody.
    """
    for rank in senders:
        lengths = [call.num_bytes for call in sends_of(outcome.trace, rank)]
        least = min(max(lengths, default=0) // 2, lenet.MODEL_NUM_BYTES // 4)
        long = sum(length for length in lengths if length >= least)
        if long >= _LARGEST_ARRAY * num_times * lenet.MODEL_NUM_BYTES:
            yield from every_message_fault(outcome, [rank], min_num_bytes=least)

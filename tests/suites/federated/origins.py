"""Whether training comes from the messages: some are altered on their way, and what follows?"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from grader.api import (
    FaultEffect,
    MessageFault,
    NotProven,
    Outcome,
    RuleViolation,
    Trace,
    WrongAnswer,
    assert_answers_follow,
    assert_messages_matter,
    case_context,
    every_contribution_fault,
    every_message_fault,
    holds,
    in_drawn_order,
    inject_faults,
    is_zeros,
    sends_of,
)

from . import lenet
from .answered import Check, Run
from .gathering import SERVER, given_num_bytes, prepares_only, reaching_num_bytes
from .image_contents import are_images
from .training_cases import Training

_MODELS = ("seen", "model", "aggregate")
_LARGEST_ARRAY = 0.7
"""The part of a model, at least, that its largest array makes up."""
_LEAST_NUM_BYTES = lenet.MODEL_NUM_BYTES // 2
"""Of gradients or models that a rank gives the others in all."""
_LONG_NUM_BYTES = lenet.MODEL_NUM_BYTES // 4
"""What is as long as this is altered, whatever else there is."""
_ELSEWHERE = (0.29, 0.58)
"""How much further in a message other numbers are altered."""


@dataclass(frozen=True)
class Faults:
    """What a run led to once what one rank after the other gives to the others was altered."""

    case: Training
    outcome: Outcome
    messages: Sequence[MessageFault]
    """What was altered: some or all of a rank's longer messages, or of what collectives get."""
    inject: Callable[[Sequence[MessageFault]], Sequence[FaultEffect]]
    ignores_images: Callable[[], bool]
    """Whether a rank trained on an image of the server that was altered, and no model changed."""
    computes_on_others: Callable[[], bool]
    """Whether models changed with each of several images of the server, and no rank trained on one
    that was altered."""
    unaltered: Sequence[Outcome]
    """Runs without alterations between those with; none before anything is injected."""
    changes: Mapping[MessageFault, float]
    """By how much some number of a model changed at most, of a training that is right."""

    def effects(self) -> Iterator[FaultEffect]:
        """Yield what each alteration led to.

        The first is tried on its own: mostly it says enough, and the others can wait for a test
        that asks about each of them. Some contributions to collectives cannot be altered for
        their form; nothing is concluded from these.
        """
        for some in filter(None, (self.messages[:1], self.messages[1:])):
            for effect in self.inject(some):
                if effect.happened or not effect.message.of_collectives:
                    yield effect

    def assert_some_matter(
        self, givers: Collection[int], least: int, num_used: Callable[[], int]
    ) -> None:
        """Assert that what the givers computed came to others by MPI, and changed something there.

        least: how many of them have to give something of a model's size that changes something.
        num_used: how many ranks' results are in the model of another, as far as the numbers tell.
        Raises RuleViolation, NotProven; WrongAnswer where each trains with its own results only.
        """
        with case_context(self.case, self.outcome):
            trace = self.outcome.trace
            given = {rank: given_num_bytes(trace, rank) for rank in givers}
            zeros = {rank: _zeros_num_bytes(trace, rank) for rank in givers}
            heard = [rank for rank in givers if given[rank] - zeros[rank] >= _LEAST_NUM_BYTES]
            if len(heard) < least:
                unheard = [rank for rank in givers if rank not in heard]
                rank = min(unheard, key=lambda rank: given[rank] >= _LEAST_NUM_BYTES)
                num_bytes = given[rank]
                _assert_no_zeros(rank, num_bytes, zeros[rank])
                text = (
                    f"Rank {rank} sent the other ranks only {num_bytes:,} bytes during training. "
                    f"A single gradient or model takes {lenet.MODEL_NUM_BYTES:,} bytes."
                )
                raise RuleViolation.of(
                    "traffic.gives_nothing", text, rank=rank, num_bytes=num_bytes
                )
            by_givers, influencing = [], set()
            for effect in self.effects():
                if effect.message.rank in heard:
                    by_givers.append(effect)
                    if effect.happened and effect.influenced and not effect.noticed:
                        influencing.add(effect.message.rank)
                    if len(influencing) >= least:
                        return
            number = num_used()
            if not number and not influencing and not any(each.noticed for each in by_givers):
                text = "No rank's results changed another rank's model."
                helps = "which line uses what the other ranks sent?"
                raise WrongAnswer.of("training.on_own_results", text, help=helps)
            assert_answers_follow(trace, by_givers) if by_givers else None
            if number < least:
                text = (
                    "This run does not show that one rank's results change another rank's model. "
                    "Your instructor reviews this part."
                )
                raise NotProven.of("training.no_effect_on_others", text)

    def assert_contents(self, check: Check) -> None:
        """Assert what samples show in the run, or else in one more: few may miss what is new.

        Raises NotProven.
        """
        try:
            check(self.case, self.outcome)
        except NotProven:
            if not self.unaltered:
                raise
            check(self.case, self.unaltered[0])

    def assert_results_follow_images(self) -> None:
        """Assert that another image of the server led to another model, where a rank trained on it.

        The first alteration that `effects` tries comes with one of an image. Raises NotProven.
        """
        if self.ignores_images():
            with case_context(self.case, self.outcome):
                text = "The grader changed an image on its way to a rank. The rank trained on it, "
                text += "but its results stayed the same. They might not come from its data. "
                text += "Your instructor reviews this part."
                raise NotProven.of("evidence.results_ignore_images", text)

    def assert_images_trained_on(self) -> None:
        """Assert that ranks train on the images that the server gave them, not on others.

        Raises NotProven.
        """
        next(self.effects(), None)
        if self.computes_on_others():
            with case_context(self.case, self.outcome):
                text = "The grader changed an image on its way to a rank. The models changed, but "
                text += "no rank trained on the changed image. The ranks might not train on images "
                text += "from the server. Your instructor reviews this part."
                raise NotProven.of("evidence.other_images_used", text)

    def assert_changes(self, givers: Collection[int], least: float) -> None:
        """Assert that a number that was altered changed some model by so much, for each giver.

        It is altered by 1 or more. Who computes all by itself can add a little of what came.
        Only of a training that is right. Raises NotProven.
        """
        if (rank := self.changes_little(givers, least)) is not None:
            change = max(self._changes_by(rank))
            text = f"The grader added 1 or more to numbers that rank {rank} sent. No number of a "
            text += f"model changed by more than {change:.1g}; an average would change by "
            text += f"{least:.1g} at least. The results might not come from the messages. Your "
            text += "instructor reviews this part."
            with case_context(self.case, self.outcome):
                raise NotProven.of("evidence.altered_message_changes_little", text, rank=rank)

    def changes_little(self, givers: Collection[int], least: float) -> int | None:
        """Return the first giver whose altered numbers changed the models less, if at all."""
        for rank in givers:
            if 0 < max(self._changes_by(rank), default=0) < least:
                return rank
        return None

    def _changes_by(self, rank: int) -> list[float]:
        return [change for fault, change in self.changes.items() if fault.rank == rank]

    def holds_without(self, check: Check) -> bool:
        """Return whether a check holds for the run without alterations."""
        return holds(check, self.case, self.outcome)

    def assert_each_matters(self, senders: Iterable[int], num_times: int) -> None:
        """Assert that what each of these senders gives had an effect, if that carries its models.

        num_times: how many models, or gradients, each of them has to give. Who gives some by
        messages and some to collectives is not looked at. Raises NotProven.
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


def _zeros_num_bytes(trace: Trace, rank: int) -> int:
    """Return how many bytes of a rank are in messages and collectives that contain only zeros.

    They may be most: an all-gather can be made of one Allreduce for each rank.
    """
    calls = trace.ranks[rank].calls
    return sum(call.num_bytes for call in calls if is_zeros(call) and not prepares_only(call))


def _assert_no_zeros(rank: int, num_bytes: int, zeros: int) -> None:
    """Assert that a rank that gives half a model or more gives something. Raises NotProven."""
    if num_bytes >= _LEAST_NUM_BYTES:
        text = (
            f"Rank {rank} sent the other ranks {num_bytes:,} bytes, {zeros:,} of them in "
            "messages and collectives that contained only zeros. The trained model might not "
            "come from messages; your instructor reviews this part."
        )
        raise NotProven.of("evidence.zeros_given", text, rank=rank, num_bytes=zeros)


def drawn_run(runs: Iterable[tuple[Training, Outcome]]) -> tuple[Training, Outcome]:
    """Return one of the runs, which the seed decides; of one on 2 ranks too little can be told."""
    found = [each for each in runs if not each[0].is_longer]
    wide = [each for each in found if each[1].ranks > 2] or found
    return in_drawn_order(wide[0][1], wide)[0]


def faults_in(run: Run, case: Training, outcome: Outcome, checks: Sequence[Check]) -> Faults:
    """Have what each rank gives to others altered in a run of its own.

    What trains otherwise than before, of the same inputs, has been influenced. A script that never
    trains twice alike is judged by which of the checks that held go wrong.
    """
    again = replace(case, inputs_seed=outcome.inputs[0]["seed"])
    unaltered: list[Outcome] = []
    changes: dict[MessageFault, float] = {}

    def check_same(same: Training, found: Outcome) -> None:
        if is_of_image(same.message_fault):
            rows = zip(outcome["rows"], found["rows"], strict=True)
            if any(not np.array_equal(*each) for each in rows):
                trained_on.add(same.message_fault)
            assert_same_run(outcome, found, _MODELS)
            return
        if same.message_fault is not None and len(held()) == len(checks):
            changes[same.message_fault] = _change(outcome, found)
        assert_same_run(outcome, found)
        if same.message_fault is None:
            unaltered.append(found)

    @cache
    def held() -> Sequence[Check]:
        return [check for check in checks if holds(check, case, outcome)]

    def check_held(altered_case: Training, altered: Outcome) -> None:
        for check in held():
            check(altered_case, altered)

    trains_alike = True
    image = _image_fault(outcome) if len(held()) == len(checks) else None
    trained_on = set[MessageFault | None]()
    of_image: list[FaultEffect] = []

    def is_of_image(fault: MessageFault | None) -> bool:
        """Return whether it alters the image, in whichever number."""
        if image is None or fault is None:
            return False
        return replace(fault, position=image.position) == image

    def inject(messages: Sequence[MessageFault]) -> Sequence[FaultEffect]:
        nonlocal trains_alike
        inject_with = partial(inject_faults, run, outcome.ranks, tries_elsewhere=True)
        if trains_alike:
            asked = [*messages] if image is None or of_image else [*messages, image]
            try:
                effects = inject_with(again, outcome, asked, check_same)
            except WrongAnswer:
                trains_alike = False
            else:
                of_image.extend(each for each in effects if is_of_image(each.message))
                # A label or a weight beside the images may be what was altered.
                if image is not None and any(map(is_of_others, of_image)):
                    for part in _ELSEWHERE:
                        other = replace(image, position=(image.position + part) % 1)
                        with suppress(WrongAnswer):  # A second run came out otherwise.
                            of_image.extend(inject_with(again, outcome, [other], check_same))
                return [each for each in effects if not is_of_image(each.message)]
        return inject_with(case, outcome, messages, check_held)

    def ignores_images() -> bool:
        return any(not each.influenced and each.message in trained_on for each in of_image)

    def is_of_others(effect: FaultEffect) -> bool:
        is_followed = effect.message in trained_on or effect.ended
        return effect.happened and bool(effect.influenced) and not is_followed

    def computes_on_others() -> bool:
        return len(of_image) > len(_ELSEWHERE) and all(map(is_of_others, of_image))

    messages = tuple(_faults(outcome))
    # In a wrong training only the last message may have an effect: there, all are altered.
    if len(held()) == len(checks):
        messages = tuple(_drawn_third(outcome, each) for each in messages)
    return Faults(
        case, outcome, messages, inject, ignores_images, computes_on_others, unaltered, changes
    )


def _change(before: Outcome, outcome: Outcome) -> float:
    """Return by how much the numbers of models differ at most; inf where there are not as many."""
    pairs = [(before[name][r], outcome[name][r]) for name in _MODELS for r in range(before.ranks)]
    if any(one.shape != other.shape for one, other in pairs):
        return np.inf
    apart = max(float(np.abs(one - other).max(initial=0)) for one, other in pairs)
    return apart if np.isfinite(apart) else np.inf


def assert_same_run(
    before: Outcome, outcome: Outcome, names: Sequence[str] = ("rows", "gradient", *_MODELS)
) -> None:
    """Assert that two runs trained on the same batches, with the same models but for rounding.

    What was made of gradients or models, and then not used, is compared as well.
    Raises WrongAnswer with the first rank of which that is not so.
    """
    for rank in range(before.ranks):
        for name in names:
            one, other = before[name][rank], outcome[name][rank]
            if one.shape != other.shape or not np.allclose(
                one, other, rtol=1e-6, atol=1e-8, equal_nan=True
            ):
                text = (
                    f"Rank {rank} trained a different model in a second run with the same inputs."
                )
                raise WrongAnswer.of("training.not_repeated", text, rank=rank)


def _image_fault(outcome: Outcome) -> MessageFault | None:
    """Return an alteration of one message of the server that has images; None if it has none."""
    calls = outcome.trace.ranks[SERVER].calls
    sends = [call for call in calls if call.is_send and call.num_bytes]
    given = [call for call in calls if reaching_num_bytes(call, SERVER)]
    of_images = [
        (number, kind is given)
        for kind in (sends, given)
        for number, call in enumerate(kind)
        if are_images(call)
    ]
    if not of_images:
        return None
    random = np.random.default_rng(outcome.inputs[0]["seed"])
    number, of_collectives = of_images[random.integers(len(of_images))]
    return MessageFault(SERVER, number, float(random.random()), of_collectives=of_collectives)


def _faults(outcome: Outcome) -> Iterable[MessageFault]:
    """Yield alterations of each rank's longer messages, and of what it gives to collectives.

    Of the longer ones, since a length or a loss may be of use to nobody. A server comes last, whose
    messages say nothing of what the others compute.
    """
    for rank in reversed(range(outcome.ranks)):
        sent = [call.num_bytes for call in sends_of(outcome.trace, rank)]
        if _least_of(sent):
            yield from every_message_fault(outcome, [rank], min_num_bytes=_least_of(sent))
        given = [reaching_num_bytes(call, rank) for call in outcome.trace.ranks[rank].calls]
        if _least_of(given):
            for fault in every_contribution_fault(outcome, [rank]):
                yield replace(fault, min_num_bytes=min(fault.min_num_bytes, _LONG_NUM_BYTES))


def _drawn_third(outcome: Outcome, fault: MessageFault) -> MessageFault:
    """Return the fault, of all that a rank gives, for a third of it that the seed decides.

    Code that uses only its first messages must not pass for code that uses all of them: the first
    third is left alone, and the last message, which a correct script may not need. All are altered
    where they are fewer than five, or of numbers shorter than float32: a change of one of these may
    get lost in rounding.
    """
    calls = outcome.trace.ranks[fault.rank].calls
    long = [call for call in calls if call.num_bytes >= fault.min_num_bytes]
    of_collectives = fault.of_collectives
    given = [
        c for c in long if (reaching_num_bytes(c, fault.rank) if of_collectives else c.is_send)
    ]
    number, longest = len(given), max((call.num_bytes for call in given), default=0)
    length = -(-number // 3)
    if number < 5 or longest < _LARGEST_ARRAY * lenet.MODEL_NUM_BYTES:
        return fault
    first = int(np.random.default_rng(outcome.inputs[0]["seed"]).integers(length, number - length))
    return replace(fault, number=first, num_messages=length)


def _least_of(lengths: Sequence[int]) -> int:
    """Return from how many bytes on data is altered; 0 where none is of a model's size."""
    least = min(max(lengths, default=0) // 2, _LONG_NUM_BYTES)
    return least if least >= lenet.MODEL_NUM_BYTES // 100 else 0


def _long_num_bytes(outcome: Outcome, message: MessageFault) -> int:
    """Return how many bytes, some of them altered, reach other ranks, each time that they do."""
    if message.of_collectives:
        calls = outcome.trace.ranks[message.rank].calls
        given = [each for each in calls if each.num_bytes >= message.min_num_bytes]
        return sum(reaching_num_bytes(call, message.rank) for call in given)
    lengths = [call.num_bytes for call in sends_of(outcome.trace, message.rank)]
    return sum(length for length in lengths if length >= message.min_num_bytes)

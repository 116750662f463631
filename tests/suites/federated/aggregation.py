"""Calls of the student's Aggregator: state dicts in, their weighted mean out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.api import (
    Array,
    Case,
    Data,
    Finding,
    Outcome,
    Text,
    WrongAnswer,
    case_context,
    counted,
    found,
)

FILE = "fed_avg.py"

ENTRIES: Mapping[str, tuple[int, ...]] = {
    "0.weight": (4, 3),
    "0.bias": (4,),
    "1.weight": (4,),
    "1.bias": (4,),
    "1.running_mean": (4,),
    "1.running_var": (4,),
    "1.num_batches_tracked": (),
}
"""The state dict of a linear layer and a batch norm, as the probe makes them."""
COUNTER = "1.num_batches_tracked"
PARAMETERS = tuple(key for key in ENTRIES if key.endswith(("weight", "bias")))
STATISTICS = tuple(key for key in ENTRIES if "running" in key)

_WORDS: Mapping[str, str] = {
    "aggregated": "The result of aggregate(...)",
    "given out": "The result of get_model_params()",
    "held": "The state dict of the model given to Aggregator(model)",
}
"""The state dicts that come back, and how a sentence about one begins."""
_RTOL = 1e-5


@dataclass(frozen=True, kw_only=True)
class Aggregation(Case):
    """One call of Aggregator.aggregate on random state dicts, of a model with batch norm."""

    call: str = "Aggregator"
    num_samples: tuple[int, ...]
    has_counter: bool = False
    """The state dicts have batch norm's count of batches, a whole number."""

    @property
    def label(self) -> str:
        """Return how many examples the clients have, and whether batches are counted."""
        counts = ", with batch norm's counter" if self.has_counter else ""
        return (
            f"state dicts of clients with {', '.join(map(str, self.num_samples))} examples{counts}"
        )

    @property
    def keys(self) -> list[str]:
        """Return the keys of each state dict."""
        return [key for key in ENTRIES if self.has_counter or key != COUNTER]

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return random entries, one of each key for each client."""
        num_clients = len(self.num_samples)
        entries: dict[str, Any] = {
            # Entries of one shape lie apart, so that a swapped key shows.
            f"entry {i}": (i + 1 + random.random((num_clients, *shape))).astype(np.float32)
            for i, (key, shape) in enumerate(ENTRIES.items())
            if key != COUNTER
        }
        if self.has_counter:
            entries["counts"] = random.permutation(np.arange(10, 10 + num_clients))
        same = {"file": FILE, "keys": self.keys, "num_samples": list(self.num_samples)}
        return [{**same, **entries}] * ranks

    def results(self, rank: int, ranks: int) -> Mapping[str, Array | Text]:
        """Return the form of three state dicts: keys with dtypes, and all numbers in a row."""
        return {f"{word} {what}": form for word in _WORDS for what, form in _FORMS.items()}


_FORMS: Mapping[str, Array | Text] = {
    "keys": Text(),
    "numbers": Array("float64", (None,), finite=False),
    "lengths": Array("int64", (None,)),
}


def entries_of(outcome: Outcome, word: str, keys: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the entries of a state dict that came back.

    Raises WrongAnswer for what is none, and where one of these keys is missing.
    """
    told, subject = outcome[f"{word} keys"][0], _WORDS[word]
    if told.startswith("!"):
        kind = told[1:61]
        text = f"{subject} is of type {kind}; it must be a dict of tensors."
        raise WrongAnswer.of("aggregate.not_a_dict", text, type=kind)
    names = [line.rpartition(" ")[0] for line in told.split("\n") if line]
    numbers, lengths = outcome[f"{word} numbers"][0], outcome[f"{word} lengths"][0]
    if len(lengths) != len(names) or (lengths < 0).any() or lengths.sum() != len(numbers):
        text = f"{subject} has keys and numbers that do not match."
        raise WrongAnswer.of("aggregate.inconsistent", text)
    missing = [key for key in keys if key not in names]
    if missing:
        text = f"{subject} lacks {', '.join(missing)}."
        helps = "compare its keys with the clients' state dicts"
        raise WrongAnswer.of("aggregate.keys_missing", text, help=helps, missing=missing)
    ends = np.cumsum(lengths)
    pieces = [numbers[end - length : end] for end, length in zip(ends, lengths, strict=True)]
    entries = dict(zip(names, pieces, strict=True))
    for key in keys:
        length, expected = len(entries[key]), int(np.prod(ENTRIES[key]))
        if length != expected:
            has = f"{subject} has {counted(length, 'number')} for {key!r}"
            text = f"{has}; expected {expected}."
            raise WrongAnswer.of(
                "aggregate.wrong_length", text, name=key, length=length, expected=expected
            )
    return entries


def dtypes_of(outcome: Outcome, word: str) -> dict[str, str]:
    """Return the dtype of each entry by key."""
    told = outcome[f"{word} keys"][0]
    pairs = [line.rpartition(" ") for line in told.split("\n") if line]
    return {key: dtype for key, _, dtype in pairs}


def given_entries(outcome: Outcome) -> dict[str, np.ndarray]:
    """Return what the clients' state dicts held: a row for each client."""
    given = outcome.inputs[0]
    floats = {
        key: given[f"entry {i}"].reshape(len(given["num_samples"]), -1).astype(np.float64)
        for i, key in enumerate(ENTRIES)
        if key != COUNTER
    }
    if "counts" not in given:
        return floats
    return {**floats, COUNTER: given["counts"].reshape(-1, 1).astype(np.float64)}


def assert_weighted_means(case: Aggregation, outcome: Outcome, keys: Sequence[str]) -> None:
    """Assert that these entries are the means over the clients, weighted by examples."""
    with case_context(case, outcome):
        entries, given = entries_of(outcome, "aggregated", keys), given_entries(outcome)
        weights = np.array(case.num_samples) / sum(case.num_samples)
        means = {key: weights @ rows for key, rows in given.items()}
        for key in keys:
            if not np.allclose(entries[key], means[key], rtol=_RTOL, atol=0):
                got, wanted = _few(entries[key]), _few(means[key])
                text = f"aggregate(...)[{key!r}] is {got}; expected {wanted}."
                differs = found("aggregate.differs", text, name=key)
                reason = _reason(key, entries[key], means, given, weights)
                raise WrongAnswer(*([reason] if reason else []), differs)


def assert_counter_kept(case: Aggregation, outcome: Outcome) -> None:
    """Assert that the number of batches stays a whole number, that of the first client."""
    with case_context(case, outcome):
        number = entries_of(outcome, "aggregated", [COUNTER])[COUNTER][0]
        first = given_entries(outcome)[COUNTER][0, 0]
        dtype = dtypes_of(outcome, "aggregated")[COUNTER]
        if dtype != "int64" or number != first:
            raise WrongAnswer.of(
                "aggregate.counter_not_kept",
                f"aggregate(...)[{COUNTER!r}] is {number:g} ({dtype}); expected {first:g} "
                "(int64). This entry counts batches; it is not a parameter.",
                help="what does the handout say about whole-number entries?",
                name=COUNTER,
                type=dtype,
            )


def assert_model_kept(case: Aggregation, outcome: Outcome) -> None:
    """Assert that set_model_params and get_model_params keep and give what aggregate returned."""
    with case_context(case, outcome):
        aggregated = entries_of(outcome, "aggregated", PARAMETERS)
        # A counter that was averaged, and missing buffers, cost the tests that say so.
        keys = [key for key in case.keys if key in aggregated and key != COUNTER]
        for word in ("held", "given out"):
            entries = entries_of(outcome, word, keys)
            for key in keys:
                if not np.allclose(entries[key], aggregated[key], rtol=_RTOL):
                    raise WrongAnswer(*_not_set(word, key, entries[key], aggregated[key]))


def _not_set(word: str, key: str, entry: np.ndarray, aggregated: np.ndarray) -> list[Finding]:
    """Return which method does not do its work, and what differs."""
    if word == "held":
        text = "set_model_params(...) does not change the model given to Aggregator(model)."
        helps = "which object does set_model_params change?"
        reason = found("aggregator.model_not_set", text, help=helps)
    else:
        text = "get_model_params() does not return the state dict given to set_model_params(...)."
        helps = "which object does get_model_params read?"
        reason = found("aggregator.other_params_returned", text, help=helps)
    text = f"{key!r} is {_few(entry)} after set_model_params(...)"
    text += f"; aggregate(...) had returned {_few(aggregated)}."
    return [reason, found("aggregator.differs", text, name=key)]


def _reason(
    key: str,
    entry: np.ndarray,
    means: Mapping[str, np.ndarray],
    given: Mapping[str, np.ndarray],
    weights: np.ndarray,
) -> Finding | None:
    """Return what a wrong entry is instead, as far as its numbers tell."""
    subject = f"The aggregated {key!r}"

    def is_(other: np.ndarray) -> bool:
        return np.allclose(entry, other, rtol=_RTOL)

    for other, mean in means.items():
        if mean.shape == entry.shape and other != key and is_(mean):
            told = f"{subject} is the weighted mean of {other!r}: the keys are swapped."
            return found("aggregate.keys_swapped", told, name=key, other=other)
    rows = given[key]
    known = {
        "aggregate.first_client_only": (rows[0], "the first client's entry, not a mean"),
        "aggregate.last_client_only": (rows[-1], "the last client's entry, not a mean"),
        "aggregate.unweighted": (rows.mean(axis=0), "the unweighted mean of the clients' entries"),
        "aggregate.sum_not_mean": (rows.sum(axis=0), "the sum of the clients' entries, not a mean"),
    }
    for reason, (known_entry, words) in known.items():
        if is_(known_entry):
            return found(reason, f"{subject} is {words}.", name=key)
    for client in range(len(rows)):
        if is_(means[key] - weights[client] * rows[client]):
            told = f"{subject} leaves out state_dict_list[{client}]."
            return found("aggregate.client_missing", told, name=key, client=client)
    scale = entry / means[key]
    if np.allclose(scale, scale[0], rtol=_RTOL):
        factor = f"{scale[0]:.4g}"
        told = f"{subject} is {factor} times the mean: the weights do not add up to 1."
        return found("aggregate.weights_not_1", told, name=key, factor=float(factor))
    return None


def _few(numbers: np.ndarray) -> str:
    shown = ", ".join(f"{number:.6g}" for number in numbers[:4])
    return f"[{shown}{', ...' if len(numbers) > 4 else ''}]"

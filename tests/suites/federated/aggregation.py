"""Calls of the student's Aggregator: state dicts in, their weighted mean out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.api import Array, Case, Data, Outcome, Text, WrongAnswer, case_context

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

_WORDS = ("aggregated", "given out", "held")
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


def entries_of(case: Aggregation, outcome: Outcome, word: str) -> dict[str, np.ndarray]:
    """Return the entries of a state dict that came back; raises WrongAnswer for another form."""
    told = outcome[f"{word} keys"][0]
    if told.startswith("!"):
        raise WrongAnswer(f"the state dict {word} is a {told[1:61]}, expected a dict of tensors")
    keys = [line.rpartition(" ")[0] for line in told.split("\n") if line]
    numbers, lengths = outcome[f"{word} numbers"][0], outcome[f"{word} lengths"][0]
    if len(lengths) != len(keys) or (lengths < 0).any() or lengths.sum() != len(numbers):
        raise WrongAnswer(f"the state dict {word} does not fit together")
    missing = [key for key in case.keys if key not in keys]
    if missing:
        raise WrongAnswer(
            f"the state dict {word} has no {missing[0]!r} ({len(missing)} of {len(case.keys)} keys "
            "are missing); every key of the clients' state dicts belongs into it"
        )
    ends = np.cumsum(lengths)
    pieces = [numbers[end - length : end] for end, length in zip(ends, lengths, strict=True)]
    found = dict(zip(keys, pieces, strict=True))
    for key in case.keys:
        expected = int(np.prod(ENTRIES[key]))
        if len(found[key]) != expected:
            raise WrongAnswer(
                f"the state dict {word}: {key!r} has {len(found[key])} numbers, expected {expected}"
            )
    return found


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
        found, given = entries_of(case, outcome, "aggregated"), given_entries(outcome)
        weights = np.array(case.num_samples) / sum(case.num_samples)
        means = {key: weights @ rows for key, rows in given.items()}
        for key in keys:
            if not np.allclose(found[key], means[key], rtol=_RTOL, atol=0):
                raise WrongAnswer(
                    f"aggregate(...)[{key!r}] is {_few(found[key])}, expected "
                    f"{_few(means[key])}{_why(key, found[key], means, given, weights)}"
                )


def assert_counter_kept(case: Aggregation, outcome: Outcome) -> None:
    """Assert that the number of batches stays a whole number, that of the first client."""
    with case_context(case, outcome):
        found = entries_of(case, outcome, "aggregated")[COUNTER][0]
        first = given_entries(outcome)[COUNTER][0, 0]
        dtype = dtypes_of(outcome, "aggregated")[COUNTER]
        if dtype != "int64" or found != first:
            raise WrongAnswer(
                f"aggregate(...)[{COUNTER!r}] is {found:g} ({dtype}), expected {first:g} (int64): "
                "it counts batches and is no parameter; whole-number entries are not averaged, the "
                "first client's are kept"
            )


def assert_model_kept(case: Aggregation, outcome: Outcome) -> None:
    """Assert that set_model_params and get_model_params keep and give what aggregate returned."""
    with case_context(case, outcome):
        aggregated = entries_of(case, outcome, "aggregated")
        for word, what in (
            ("held", "the model given to Aggregator(model)"),
            ("given out", "get_model_params()"),
        ):
            found = entries_of(case, outcome, word)
            for key in case.keys:
                # A counter that was averaged costs the test that says so.
                if key != COUNTER and not np.allclose(found[key], aggregated[key], rtol=_RTOL):
                    raise WrongAnswer(
                        f"after set_model_params(aggregate(...)), {key!r} of {what} is "
                        f"{_few(found[key])}; aggregate had returned {_few(aggregated[key])}"
                    )


def _why(
    key: str,
    found: np.ndarray,
    means: Mapping[str, np.ndarray],
    given: Mapping[str, np.ndarray],
    weights: np.ndarray,
) -> str:
    """Return what a wrong entry is instead, as far as its numbers tell."""
    for other, mean in means.items():
        if mean.shape == found.shape and other != key and np.allclose(found, mean, rtol=_RTOL):
            return f": that is the weighted mean of {other!r}, the keys are swapped"
    rows = given[key]
    if np.allclose(found, rows[0], rtol=_RTOL):
        return ": that is the first client's entry, not a mean"
    if np.allclose(found, rows[-1], rtol=_RTOL):
        return ": that is the last client's entry, not a mean"
    if np.allclose(found, rows.mean(axis=0), rtol=_RTOL):
        return ": that is the unweighted mean"
    if np.allclose(found, rows.sum(axis=0), rtol=_RTOL):
        return ": that is the sum of the clients' entries"
    for client in range(len(rows)):
        rest = means[key] - weights[client] * rows[client]
        if np.allclose(found, rest, rtol=_RTOL):
            return f": the entry of client {client} is missing in it"
    scale = found / means[key]
    if np.allclose(scale, scale[0], rtol=_RTOL):
        return f": that is {scale[0]:.4g} times the mean, the weights do not add up to 1"
    return ""


def _few(numbers: np.ndarray) -> str:
    shown = ", ".join(f"{number:.6g}" for number in numbers[:4])
    return f"[{shown}{', ...' if len(numbers) > 4 else ''}]"

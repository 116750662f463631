"""Inputs and calls made by hand, and what a check says of them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from grader.grading_plugin.case import Case, Data
from grader.judge.check_failures import CheckFailure
from grader.trace.calls import Call

from ...judge import build


@contextmanager
def raising(
    kind: type[CheckFailure], *keys: str, **facts: Any
) -> Iterator[pytest.ExceptionInfo[CheckFailure]]:
    """Assert that a check fails with findings of these keys first, the first with these facts."""
    with pytest.raises(kind) as error:
        yield error
    findings = error.value.findings
    assert tuple(each.key for each in findings[: len(keys)]) == keys, error.value
    assert facts.items() <= findings[0].facts.items(), findings[0].facts


def inputs_of(case: Case, ranks: int, seed: int = 0) -> Sequence[Mapping[str, Any]]:
    """Return inputs as the runner would make them."""
    return case.inputs(np.random.default_rng(seed), ranks, Data())


def call(function: str, num_bytes: int = -1, **fields: Any) -> Call:
    """Return a call on float64 numbers that was completed in the student's phase."""
    own = {"num_elements": num_bytes // 8, "num_bytes": num_bytes, "communicator": 1}
    return build.call(function, **{**own, "file": "sync_network.py", **fields})

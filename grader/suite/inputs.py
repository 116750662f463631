"""Turns the cases of a suite into calls with inputs: random, yet the same at every regrade."""

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grader.data import Data
from grader.errors import GraderError
from grader.runner.plan import CaseCall
from grader.suite.case import Case

PUBLIC_SECRET = b"grader: inputs that every student may repeat"
"""Stands for the course secret where there is none."""


def case_calls(
    cases: Sequence[Case],
    ranks: int,
    *,
    secret: bytes,
    assignment: str,
    part: str,
    data: Data | None = None,
) -> tuple[CaseCall, ...]:
    """Return each case with its inputs for every rank.

    The inputs depend on the secret, the assignment, the part, the number of ranks and the case's
    label; not on the submission, so that a changed comment does not change a mark.
    data: the images that inputs may be made of; the bundled digits when left out.
    Raises GraderError when two cases have one label.
    """
    labels = [case.label for case in cases]
    if len(set(labels)) != len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise GraderError(f"two cases of {part} have the label {twice!r}")
    images = data or Data()
    return tuple(
        CaseCall(
            label=case.label,
            probe=case.probe,
            synchronous_sends=case.synchronous_sends,
            inputs=_inputs(
                case, ranks, images, f"{assignment}/{part}/{ranks}/{case.label}", secret
            ),
            expected=tuple(case.results(rank, ranks) for rank in range(ranks)),
        )
        for case in cases
    )


def _inputs(
    case: Case, ranks: int, data: Data, name: str, secret: bytes
) -> tuple[Mapping[str, Any], ...]:
    seed = hmac.new(secret, name.encode(), hashlib.sha256).digest()
    inputs = tuple(case.inputs(np.random.default_rng(int.from_bytes(seed)), ranks, data))
    if len(inputs) != ranks:
        raise GraderError(f"{name}: inputs for {len(inputs)} ranks instead of {ranks}")
    return inputs

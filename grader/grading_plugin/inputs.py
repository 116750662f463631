"""Turns the cases of a suite into calls with inputs: random, yet the same at every regrade."""

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grader.course.data import Data
from grader.grading_plugin.case import Case
from grader.model.errors import GraderError
from grader.recording.launch_plan import CaseCall


def case_calls(
    cases: Sequence[Case],
    ranks: int,
    *,
    secret: bytes,
    assignment: str,
    part: str,
    suite: str = "",
    standalone: bool = False,
    backend: str = "",
    data: Data | None = None,
) -> tuple[CaseCall, ...]:
    """Return each case with its inputs for every rank.

    The inputs of a case depend on the secret and on the name of its launch: assignment, part, suite
    file, number of ranks, what connects them, and the labels of all its cases. Tests share
    launches, so it is not the test that counts: the inputs would depend on which tests are
    selected, and on which of them comes first. Nor does the submission: a changed comment must not
    change a mark. What is measured again, or left to MPI altogether, is another launch and gets
    other inputs.
    suite: name of the file that asks, without its suffix.
    standalone: the submission starts MPI or torch.distributed. backend: what connects the ranks.
    data: the images that inputs may be made of; the bundled digits when left out.
    Raises GraderError when two cases have one label.
    """
    labels = [case.label for case in cases]
    if len(set(labels)) != len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise GraderError(f"two cases of {part} have the label {twice!r}")
    images = data or Data()
    launch = [assignment, part, suite, ranks, standalone, backend, labels]
    return tuple(
        CaseCall(
            label=case.label,
            probe=case.probe,
            synchronous_sends=case.synchronous_sends,
            inputs=_inputs(case, ranks, images, [*launch, case.label], secret),
            expected=tuple(case.results(rank, ranks) for rank in range(ranks)),
            message_fault=case.message_fault,
            all_calls_count=case.all_calls_count,
            is_timed=case.is_timed,
        )
        for case in cases
    )


def _inputs(
    case: Case, ranks: int, data: Data, name: Sequence[Any], secret: bytes
) -> tuple[Mapping[str, Any], ...]:
    # As JSON, two names are never the same text, whatever the labels hold.
    seed = hmac.new(secret, json.dumps(name).encode(), hashlib.sha256).digest()
    inputs = tuple(case.inputs(np.random.default_rng(int.from_bytes(seed)), ranks, data))
    if len(inputs) != ranks:
        raise GraderError(f"{case.label}: inputs for {len(inputs)} ranks instead of {ranks}")
    return inputs

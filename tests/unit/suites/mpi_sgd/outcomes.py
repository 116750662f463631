"""Outcomes and traces made by hand: what a run would have brought back."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from grader.grading_plugin.case import Case, Data
from grader.judge.check_failures import CheckFailure
from grader.model.report import Outcome
from grader.trace.calls import NO_PEER, Call, RankTrace, Trace


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


def outcome(case: Case, inputs: Sequence[Mapping[str, Any]], results: Sequence[Any]) -> Outcome:
    """Return the outcome of a case whose ranks returned `results`; no call was recorded."""
    return Outcome(
        label=case.label,
        ranks=len(inputs),
        inputs=tuple(inputs),
        results=tuple(results),
        trace=Trace(()),
        wall_time_s=0.0,
    )


def inputs_of(case: Case, ranks: int, seed: int = 0) -> Sequence[Mapping[str, Any]]:
    """Return inputs as the runner would make them."""
    return case.inputs(np.random.default_rng(seed), ranks, Data())


def trace_of(calls_by_rank: Sequence[Sequence[Call]]) -> Trace:
    """Return the complete trace of ranks that made these calls."""
    return Trace(
        tuple(
            RankTrace(
                rank=rank,
                calls=tuple(replace(each, sequence=i) for i, each in enumerate(calls)),
                attached=True,
                initialised=True,
                finalised=False,
                inside=-1,
                polling=False,
                progress=len(calls),
                num_failed_polls=0,
                truncated=False,
            )
            for rank, calls in enumerate(calls_by_rank)
        )
    )


def call(
    function: str,
    num_bytes: int = -1,
    *,
    peer: int = NO_PEER,
    line: int = 1,
    communicator: int = 1,
    pickled: bool = False,
) -> Call:
    """Return a call that was completed in the student's phase."""
    is_send = function in ("Send", "Isend")
    return Call(
        sequence=0,
        function=function,
        peer=peer,
        tag=0,
        communicator=communicator,
        communicator_size=-1,
        num_elements=num_bytes // 8,
        num_bytes=num_bytes,
        entered_ns=1,
        left_ns=2,
        completed_ns=2,
        is_send=is_send,
        is_receive=function in ("Recv", "Irecv"),
        creates_request=function.startswith("I"),
        request_freed=False,
        cancelled=False,
        synchronous=False,
        pickled=pickled,
        matched_source=NO_PEER,
        matched_tag=0,
        received_num_bytes=-1,
        failed_polls=0,
        waits_for=(),
        phase=1,
        error=0,
        file="sync_network.py",
        line=line,
    )

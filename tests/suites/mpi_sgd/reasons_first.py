"""Puts a known reason before what a check has found, and a hint after why a run ended."""

from dataclasses import replace
from typing import Any

from grader.api import Call, Finding, RunFailed, WrongAnswer, call_name, call_place, call_site


def led_by(error: WrongAnswer, *reasons: Finding | None) -> WrongAnswer:
    """Return the failure with these reasons before its own findings; None is left out."""
    return error.led_by(*(each for each in reasons if each is not None))


def hinted(error: RunFailed, hint: Finding | None) -> RunFailed:
    """Return the failure of a run with a hint, if there is one, after what ended it."""
    failure = error.failure
    if hint is None:
        return RunFailed(failure)
    findings = failure.findings or (Finding("", failure.message),)
    message = f"{failure.message.removesuffix('.')}; {hint}"
    return RunFailed(replace(failure, message=message, findings=(*findings, hint)))


def call_text(call: Call) -> str:
    """Return `Isend at ring.py:31`."""
    return f"{call_name(call)}{call_site(call)}"


def call_facts(rank: int, call: Call) -> dict[str, Any]:
    """Return the facts that tell which call of which rank a finding is about."""
    return {"rank": rank, "call": call_name(call), "place": call_place(call)}

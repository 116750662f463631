"""Brings reports of earlier graders to the form of today: marks outlive a release."""

from collections.abc import Callable
from typing import Any

from grader.model import NEEDS_REVIEW

Upgrade = Callable[[dict[str, Any]], None]


def upgraded(report: Any, version: int) -> Any:
    """Return a report as this version of the schema has it, where its own can be brought there.

    report: what JSON holds, which is changed. One of another version, or of none, comes back as it
    is. Raises KeyError or TypeError where it is not built as its version says.
    """
    while isinstance(report, dict) and report.get("schema_version") in _UPGRADES:
        if report["schema_version"] >= version:
            break
        _UPGRADES[report["schema_version"]](report)
        report["schema_version"] += 1
    return report


def _tell_of_no_contributions(report: dict[str, Any]) -> None:
    """Version 8 says of differing elements whose contributions are in them."""
    for part in report["parts"]:
        for test in part["tests"]:
            for differences in (test["measured"]["evidence"] or {}).get("differences", ()):
                differences["made_of"] = ""


def _tell_of_no_files(report: dict[str, Any]) -> None:
    """Version 9 says what became of each file that was handed in."""
    report["files"] = []


def _tell_of_no_findings(report: dict[str, Any]) -> None:
    """Version 10 has findings, what kept a test from being run, and an exit code for reviews."""
    if report["review"] and report["score"] is not None:
        report["exit_code"] = NEEDS_REVIEW
    for part in report["parts"]:
        part["notes"] = [
            {"key": "", "text": note, "help": "", "facts": {}} for note in part["notes"]
        ]
        for test in part["tests"]:
            test["case"], test["findings"], test["blocked_by"] = "", [], []
            evidence = test["measured"]["evidence"] or {}
            if evidence.get("deadlock"):
                evidence["deadlock"]["notes"] = []
            for excerpt in evidence.get("excerpts", ()):
                for line in excerpt["lines"]:
                    line["column"], line["num_columns"] = 0, 0


_UPGRADES: dict[int, Upgrade] = {
    7: _tell_of_no_contributions,
    8: _tell_of_no_files,
    9: _tell_of_no_findings,
}
"""By version: what makes a report of it one of the next. Whoever raises the version adds one."""

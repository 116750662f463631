"""The formats that a report can be exported in, by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.model.errors import UsageError
from grader.model.report import Report
from grader.model.spelling import did_you_mean
from grader.report import html, json_report, markdown
from grader.report.export import annotations, junit, result_files
from grader.report.feedback import for_student


@dataclass(frozen=True)
class Format:
    """How a report is written for one kind of reader."""

    write: Callable[[Report], str]
    """Raises GraderError for a report that its reader would misunderstand."""
    may_be_full: bool = False
    """It can be for the course, or has a place that students do not see."""

    def render(self, report: Report, *, is_full: bool = False) -> str:
        """Return the text. Raises GraderError.

        is_full: where the format may be, it is for the course, and holds nothing back.
        """
        return self.write(report if is_full and self.may_be_full else for_student(report))


FORMATS: Mapping[str, Format] = {
    "artemis": Format(junit.render_for_artemis),
    "classroom50": Format(result_files.classroom50_json),
    "github": Format(annotations.github_commands),
    "gitlab": Format(annotations.gitlab_json),
    "gradescope": Format(result_files.gradescope_json, may_be_full=True),
    "html": Format(html.render, may_be_full=True),
    "json": Format(json_report.render, may_be_full=True),
    "junit": Format(junit.render, may_be_full=True),
    "markdown": Format(markdown.render, may_be_full=True),
    "prairielearn": Format(result_files.prairielearn_json),
}


@dataclass(frozen=True)
class Export:
    """A format, and the file that it is to be written to."""

    format: Format
    file: Path


def named(name: str) -> Format:
    """Return the format of this name. Raises UsageError where there is none."""
    if name not in FORMATS:
        raise UsageError(
            f"unknown format {name!r:.40}; known: {', '.join(FORMATS)}{did_you_mean(name, FORMATS)}"
        )
    return FORMATS[name]

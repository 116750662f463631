"""What each student is given: the report that counts, and its mark by the rules of the course."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from grader.addons.classroom.gradings import write_atomically
from grader.addons.classroom.marking import WHOLE
from grader.addons.classroom.standing import Standing
from grader.model.points import MARK_OF_CLASS, UNSIGNED, written
from grader.model.report import Report
from grader.report.export import formats
from grader.report.safe_text import one_line

FORMATS = {"json": "report.json", "html": "report.html", "markdown": "report.md"}
MARK = "mark.txt"


def shown(report: Report, standing: Standing, label: str) -> Report:
    """Return the report as its student may see it, with the mark that stands beside it.

    Nothing in it says where the course keeps it, or calls pending what a person has given.
    """
    first, *lines = mark_lines(standing)
    notes = [f"Your mark: {first}", *(line.removeprefix("- ") for line in lines)]
    notes += [note for note in report.notes if note != UNSIGNED]
    notes += [] if report.is_sealed else [MARK_OF_CLASS]
    return replace(
        report,
        submission=label,
        course_folder="",
        image="",
        manual_parts=(),
        notes=tuple(notes),
    )


def write(folder: Path, standing: Standing) -> None:
    """Write a student's files into a folder, which is made; none of an earlier time is left.

    Raises OSError where it cannot be written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    texts = files_of(standing)
    for name in FORMATS.values():
        if name not in texts:  # a report of an earlier hand-in is not that of this mark
            (folder / name).unlink(missing_ok=True)
    for name, text in texts.items():
        write_atomically(folder / name, text)


def files_of(standing: Standing) -> Mapping[str, str]:
    """Return the texts of a student's files by their names."""
    found = {MARK: mark_text(standing)}
    work = standing.counted
    if work is not None and work.grading is not None and work.grading.report is not None:
        report = shown(work.grading.report, standing, work.hand_in.label)
        for name, file in FORMATS.items():
            found[file] = formats.named(name).render(report) + "\n"
    return found


def mark_text(standing: Standing) -> str:
    """Return the file of the mark."""
    first, *lines = mark_lines(standing)
    return "".join(f"{line}\n" for line in (first, "", *lines))


def mark_lines(standing: Standing) -> list[str]:
    """Return the mark and how it came about: tests, what people gave, the rules of the course."""
    mark, decision = standing.mark, standing.decision
    if mark is not None and standing.status == "pending":
        first = f"no mark yet: {written(mark.pending)} of {written(mark.max_score)} points pending"
    elif standing.final is None:
        first = "no mark yet"
    else:
        most = f" of {written(mark.max_score)}" if mark is not None and mark.max_score else ""
        first = f"{written(round(standing.final, 6))}{most}"
    lines = [first]
    if mark is not None and mark.automatic is not None:
        how = "" if _is_sealed(standing) else ", graded unsealed"
        lines.append(f"- checks: {written(mark.automatic)} of {written(mark.automatic_max)}{how}")
    if mark is not None:
        for name, given in mark.overruled.items():
            what = "all of it" if name == WHOLE else f"{name}, in place of its checks"
            lines.append(_line(what, written(given.points), given.comment))
        for row in mark.rows:
            most = written(row.max_points)
            if row.given is None:
                lines.append(f"- {row.title}: pending, at most {most}")
            else:
                points = f"{written(row.given.points)} of {most}"
                lines.append(_line(row.title, points, row.given.comment))
        if mark.problem:
            lines.append(f"- {mark.problem}")
    work = standing.counted
    if mark is None and work is not None and not work.hand_in.digest:
        lines.append(f"- {work.problem}")  # nothing that can be graded was handed in
    rest = [*filter(None, (standing.team, decision.problem)), *decision.reasons]
    lines += [f"- {reason}" for reason in rest]
    return [one_line(line) for line in lines]


def _is_sealed(standing: Standing) -> bool:
    grading = standing.counted.grading if standing.counted is not None else None
    return grading is None or grading.report is None or grading.report.is_sealed


def _line(title: str, points: str, comment: str) -> str:
    return f"- {title}: {points}{f' ({comment})' if comment else ''}"

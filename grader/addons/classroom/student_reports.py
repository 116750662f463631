"""What each student is given: the report that counts, and its mark by the rules of the course."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from grader.addons.classroom.class_folder import write_atomically
from grader.addons.classroom.marking import WHOLE, Given
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
    notes = [f"Your mark: {first}", *lines, *(each for each in report.notes if each != UNSIGNED)]
    notes += [] if report.is_sealed else [MARK_OF_CLASS]
    return replace(
        report, submission=label, course_folder="", image="", manual_parts=(), notes=tuple(notes)
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
    if standing.report is not None and standing.counted is not None:
        report = shown(standing.report, standing, standing.counted.hand_in.label)
        for name, file in FORMATS.items():
            found[file] = formats.named(name).render(report) + "\n"
    return found


def mark_text(standing: Standing) -> str:
    """Return the file of the mark."""
    first, *lines = mark_lines(standing)
    return "\n".join([first, "", *(f"- {line}" for line in lines), ""])


def mark_lines(standing: Standing) -> list[str]:
    """Return the mark and how it came about: tests, what people gave, the rules of the course."""
    mark, decision, work = standing.mark, standing.decision, standing.counted
    lines = [_first_line(standing)]
    if mark is not None:
        if mark.automatic is not None:
            is_unsealed = standing.report is not None and not standing.report.is_sealed
            how = ", graded unsealed" if is_unsealed else ""
            lines.append(f"checks: {written(mark.automatic)} of {written(mark.automatic_max)}{how}")
        for name, given in mark.overruled.items():
            what = "all of it" if name == WHOLE else f"{name}, in place of its checks"
            lines.append(f"{what}: {written(given.points)}{_why(given)}")
        for row in mark.rows:
            most = written(row.max_points)
            points = f"{written(row.given.points)} of {most}" if row.given else ""
            lines.append(f"{row.title}: {points or f'pending, at most {most}'}{_why(row.given)}")
        lines += [mark.problem] if mark.problem else []
    elif work is not None and not work.hand_in.digest:
        lines.append(work.problem)  # nothing that can be graded was handed in
    lines += [*filter(None, (standing.team, decision.problem)), *decision.reasons]
    return [one_line(line) for line in lines]


def _first_line(standing: Standing) -> str:
    mark = standing.mark
    if mark is not None and standing.status == "pending":
        return f"no mark yet: {written(mark.pending)} of {written(mark.max_score)} points pending"
    if standing.final is None:
        return "no mark yet"
    most = f" of {written(mark.max_score)}" if mark is not None and mark.max_score else ""
    return f"{written(round(standing.final, 6))}{most}"


def _why(given: Given | None) -> str:
    return f" ({given.comment})" if given is not None and given.comment else ""

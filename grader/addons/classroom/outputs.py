"""What comes of a class, as files and as lines of text."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from grader.addons.classroom import class_page, gradebook, student_reports
from grader.addons.classroom.batch import Ended, Progress
from grader.addons.classroom.facts import reports_of
from grader.addons.classroom.gradings import write_atomically
from grader.addons.classroom.pseudonyms import Pseudonyms
from grader.addons.classroom.similarity import Pair
from grader.addons.classroom.standing import Standing, Strays, Work
from grader.model.points import UNSIGNED
from grader.report.safe_text import one_line

GRADEBOOK = "gradebook.csv"
CLASS_PAGE = "class.html"
STUDENTS = "students"
MARKING = "marking"
PAIRS = "pairs"
_TELL_EVERY_S = 60.0
_MOST_SHOWN = 20


def write(
    out: Path,
    standings: Sequence[Standing],
    names: Pseudonyms,
    pairs: Sequence[Pair],
    title: str,
) -> None:
    """Write the gradebook, the page of the class and the files of each student. Raises OSError.

    pairs: nearly identical hand-ins, by pseudonyms.
    """
    write_atomically(out / GRADEBOOK, gradebook.render(standings, names))
    write_atomically(out / CLASS_PAGE, class_page.render(title, standings, names, pairs))
    _write_pairs(out / PAIRS, pairs[: class_page.MOST_PAIRS])
    for each in standings:
        student_reports.write(out / STUDENTS / names.of(each.student.id), each)


def _write_pairs(folder: Path, pairs: Sequence[Pair]) -> None:
    """Write a page for each pair, and leave none of an earlier time."""
    folder.mkdir(exist_ok=True)
    for before in folder.glob("[0-9]*.html"):
        before.unlink()
    for number, pair in enumerate(pairs, 1):
        write_atomically(folder / f"{number}.html", class_page.render_pair(pair))


def teller(
    labels: Mapping[str, str], say: Callable[[str], None]
) -> Callable[[Progress, Ended | None], None]:
    """Return what says how far it is, in a line for each end and now and then between them."""
    said_s = 0.0

    def tell(progress: Progress, ended: Ended | None) -> None:
        nonlocal said_s
        if ended is None and progress.elapsed_s - said_s < _TELL_EVERY_S:
            return
        said_s = progress.elapsed_s
        words = f"{progress.num_done} of {progress.num_done + progress.num_left}"
        if progress.time_left_s is not None and progress.num_left:
            words += f", {_duration(progress.time_left_s)} left"
        if ended is not None:
            words += f": {labels[ended.task.key]}, {_result(ended)}"
        say(words)

    return tell


def _result(ended: Ended) -> str:
    if ended.outcome is None:
        return f"not graded: {ended.lost}"
    took = f"{ended.outcome.wall_time_s:.0f} s"
    if not ended.outcome.error:
        return took
    what = "cannot be graded" if ended.outcome.is_final else "not graded"
    return f"{took}, {what}: {ended.outcome.error}"


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes >= 90:
        return f"about {minutes / 60:.1f} h"
    return f"about {minutes} min" if minutes else "less than a minute"


def _shared_notes(standings: Sequence[Standing]) -> list[str]:
    """Return the notes that all reports have: they are on the grader, and on no hand-in."""
    noted = [report.notes for _, report in reports_of(standings)]
    first = noted[0] if noted else ()
    shared = [each for each in first if all(each in other for other in noted)]
    return [one_line(each) for each in shared if each != UNSIGNED]  # as --unsealed has it


def _stray(work: Work, strays: Strays) -> str:
    if work.hand_in.label in strays.of_several:
        return (
            f"{work.hand_in.label} names several students on the roster. Find its author, and "
            "rename it to that id"
        )
    if work.hand_in.is_of_namesakes:
        return (
            f"other hand-ins have the same name as {work.hand_in.label}. Add the author's "
            "number or email to the roster"
        )
    said = f"{work.hand_in.label} names no student on the roster. Add its author there"
    if set(work.hand_in.who) == {"id"}:  # as only without `platform` in class.toml
        said += ", rename it to an id, or set platform in class.toml"
    return f"{said}. Remove it from the folder if it is a test student's"


def summary(
    standings: Sequence[Standing],
    strays: Strays,
    unknown_times: Sequence[str],
    out: Path,
    num_pairs: int = 0,
) -> Iterator[str]:
    """Yield the lines that end the command: how many there are of each kind, and who needs help."""
    counts = Counter(each.status for each in standings)
    words = ", ".join(f"{number} {status}" for status, number in counts.most_common())
    yield f"{len(standings)} student{'' if len(standings) == 1 else 's'}: {words}"
    if counts["pending"]:
        yield "pending: some points are given by hand; --sheets writes the sheets for that"
    different = {each.identity: each.mark for each in standings if each.mark}.values()
    rows = [row for each in different for row in each.rows]
    if missing := sum(row.is_missing and row.given is None for row in rows):
        yield f"{missing} of these lines are for files that were not handed in. They stay pending"
        yield '  unless class.toml says not_handed_in = "zero"'
    if untimed := [each for each in standings if each.decision.is_untimed and each.final]:
        yield f"without a time, so counted as on time: {len(untimed)}; those in the table"
        yield "  that `times` in class.toml names have one"
    yield from (f"note on all gradings: {each}" for each in _shared_notes(standings))
    # Of what is nobody's the gradebook has no line: this is where it is told.
    nobodys = [
        *(each.reason for each in strays.unreadable),
        *(_stray(work, strays) for work in strays.works),
        *strays.authors,
        *(
            (f"marks are given to {key}, which is neither a student's id nor a group")
            for key in strays.marks
        ),
        *(
            f"an extension is given to {key}, which is neither a student's id nor a group"
            for key in strays.extensions
        ),
        *(f"a time is given for {label}, which was not handed in" for label in unknown_times),
    ]
    problems = [f"{each.student.id}: {each.problem}" for each in standings if each.problem]
    if nobodys or problems:
        yield "For you to decide:"
        yield from (f"  {problem}" for problem in (*nobodys, *problems[:_MOST_SHOWN]))
        if len(problems) > _MOST_SHOWN:
            yield f"  and {len(problems) - _MOST_SHOWN} more students, listed in {GRADEBOOK}"
    if counts["cannot be graded"] or counts["not graded"] or counts["needs review"]:
        yield "  --sheets writes a line for each into to-mark.csv, to be settled by hand"
    if missing := counts["no hand-in found"]:
        who = "1 student has" if missing == 1 else f"{missing} students have"
        yield f"{who} no hand-in, and no mark until every hand-in has an author"
    yield f"{out / GRADEBOOK} has the marks, {out / STUDENTS} a folder for each student,"
    yield f"{out / CLASS_PAGE} what the class as a whole shows"
    if num_pairs:
        are = "1 pair of files is" if num_pairs == 1 else f"{num_pairs} pairs of files are"
        yield f"{are} nearly the same; {out / PAIRS} has them side by side"

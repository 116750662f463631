"""What must hold after every submission, hostile or not: each check says what is broken."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from grader.model.errors import GraderError
from grader.model.report import Report
from grader.report import json_report

from . import rendered
from .attack import Attack
from .container import Graded

BREACH = "BREACH"
"""What an attack says as soon as it has done what it must not be able to do."""
_SHORTEST_LINE = 20
MARKER = "hostile-marker"
"""In the name of every file that an attack leaves as a sign that its code ran."""


def broken(attack: Attack, graded: Graded) -> list[str]:
    """Return a sentence for each invariant that does not hold."""
    found = [*left_behind(graded), *told(attack, graded)]
    if graded.wall_time_s > attack.limit_s:
        found.append(f"it took {graded.wall_time_s:.0f} s; {attack.limit_s:.0f} s are the limit")
    try:
        report = json_report.parse(graded.report)
    except GraderError as error:
        last = graded.stderr.strip().splitlines()[-1:]
        return [f"no well-formed report (exit code {graded.exit_code}): {error}; {last}", *found]
    return [*_paid(attack, report), *rendered.unsafe(report), *found]


def _paid(attack: Attack, report: Report) -> Iterator[str]:
    """Yield what is wrong with points and verdict."""
    if [part.name for part in report.parts] != [attack.part]:
        yield f"the report is about {[part.name for part in report.parts]}, not {attack.part}"
        return
    (part,) = report.parts
    if part.verdict not in attack.verdicts:
        allowed = ", ".join(sorted(attack.verdicts))
        yield f"the verdict is {part.verdict}, allowed are {allowed}: {part.message}"
    if part.points > attack.most_points:
        yield f"it got {part.points:g} points and deserves at most {attack.most_points:g}"
    if part.points < attack.least_points:
        yield f"it got {part.points:g} points and deserves {attack.least_points:g}: {part.message}"
    if attack.needs_a_person and not report.review:
        yield "the report does not ask for a person to look"


def told(attack: Attack, graded: Graded) -> Iterator[str]:
    """Yield what a student gets to see and must not, or must and does not."""
    sources = [each.decode(errors="replace") for each in attack.files.values()]
    seen = visible(graded)
    yield from graded.canaries.found_in(seen, sources)
    # A traceback shows the attack's own lines, which hold these words whatever came of it.
    for line in {line.strip() for source in sources for line in source.splitlines()}:
        if len(line) >= _SHORTEST_LINE:
            seen = seen.replace(line, "")
    for words in (BREACH, *attack.must_not_appear):
        if words in seen:
            around = seen[max(0, seen.index(words) - 100) :][:400]
            yield f"what the student sees holds {words!r}: ...{around}"
    for words in attack.must_appear:
        if words not in seen:
            yield f"nothing shows that it was carried out at all: {words!r} does not appear"


def visible(graded: Graded) -> str:
    """Return all that a student gets to see of a grading."""
    try:
        texts = _texts(json.loads(graded.report))
    except ValueError:
        texts = iter([graded.report.decode(errors="replace")])
    return "\n".join([*texts, graded.stderr])


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from (key, *_texts(each))
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def left_behind(graded: Graded) -> Iterator[str]:
    """Yield what is in the container after the grading and was not before."""
    before, after = graded.before, graded.after
    if not after:
        yield "the container was killed before its inspector could look around"
        return
    if after["processes"]:
        yield f"still alive after the report: {', '.join(after['processes'][:5])}"
    elif after["num_pids"] > before["num_pids"]:
        yield f"{before['num_pids']} processes before, {after['num_pids']} after"
    if after["ipc"] != before["ipc"]:
        yield f"System V objects are left: {after['ipc'][:3]}"
    for folder, files in after["files"].items():
        yield from _new_files(folder, before["files"][folder], files)


def _new_files(folder: str, before: Mapping[str, int], after: Mapping[str, int]) -> Iterator[str]:
    new = {path: uid for path, uid in after.items() if path not in before}
    by_root = [path for path, uid in new.items() if uid == 0 and MARKER in path]
    if by_root:
        yield f"root has written {', '.join(by_root)}"
    # Root itself leaves what packages put into their own folders.
    left = [path for path, uid in new.items() if uid != 0]
    if left:
        yield f"{len(left)} files are left in {folder}: {', '.join(left[:5])}"

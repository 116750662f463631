"""The table of a hand-in: each file, and the file of the assignment it is graded as, or why not."""

import re
from codecs import BOM_UTF8
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest

from grader.course.assignment import Assignment
from grader.course.assignment_file import Part
from grader.intake.archives.entries import IS_OF_NO_KIND
from grader.intake.placement.imported import Scripts
from grader.intake.placement.matching import (
    Rule,
    counts_for,
    is_of_old_version,
    num_folders_above,
    numbers_in,
)
from grader.intake.submission import Submission, is_hidden
from grader.model.paths import nearness
from grader.model.report import HandedInFile

_RULES = {
    Rule.OWN_NAME: "it has that name",
    Rule.OTHER_NAME: "it has another accepted name",
    Rule.SAME_LETTERS: "it has that name, spelt differently",
    Rule.WITH_ADDITIONS: "it has nearly that name",
}
_NOT_ASKED_FOR = "is not one of the expected files"
_RUNS_ALONG = f"{_NOT_ASKED_FOR}; the graded files can import it"
_LATER = (
    "it is the unchanged template",
    "its name suggests a test or an old version",
    "its name is less similar",
    "it is in a deeper folder",
    "it is a cell of a notebook, not a script",
    "it has an older date in the archive",
    "it has the lower number",
    "neither is a better match, so the first by name is graded",
)
"""Why a file is not graded, by the first merit in which the graded one is better."""
_Candidate = tuple[bool, bool, Rule, int, bool, int, tuple[int, ...], str]
"""The merits of a file, the lowest first, and its path."""
_CODE_LINE = re.compile(rb"^[ \t\f]*[^\s#].*", re.MULTILINE)
_MAX_NOTES = 8
_TEXT = re.compile(rb'"""[\s\S]*?"""|"[^"\n]*"|\'[^\'\n]*\'')
_EMPTY = b'""'
_MAX_TEMPLATE_NUM_BYTES = 1 << 17
"""With comments that were added: what is larger was changed."""


def absence_text(names: Sequence[str]) -> str:
    """Return `a.py was not handed in`, or of several names `neither a.py nor b.py was ...`."""
    *others, last = names
    if others:
        return f"neither {', '.join(others)}{',' * (len(others) > 1)} nor {last} was handed in"
    return f"{last} was not handed in"


@dataclass(frozen=True)
class Placement:
    """What a submission holds for one assignment."""

    submission: Submission
    assignment: Assignment
    chosen: Mapping[str, str]
    """The path of what is graded as each file that is asked for."""
    decided: tuple[HandedInFile, ...]
    """One row for each file that was handed in, before it is known which scripts run along."""

    @cached_property
    def rows(self) -> tuple[HandedInFile, ...]:
        """Return one row for each file that was handed in."""
        parts = [each for each in self.assignment.parts if self.chosen.keys() & {*each.files}]
        runs = {path for part in parts for path in self._paths_of(part).values()}
        return tuple(
            replace(row, why=_RUNS_ALONG) if row.why == _NOT_ASKED_FOR and row.path in runs else row
            for row in self.decided
        )

    @property
    def files(self) -> dict[str, bytes]:
        """Return what was handed in, by the names that the assignment asks for."""
        return {file: self.submission.files[path] for file, path in self.chosen.items()}

    @property
    def everything(self) -> dict[str, bytes]:
        """Return all files that were read, each by the name it is graded as, else by its path."""
        graded = {*self.chosen.values()}
        others = {path: each for path, each in self.submission.files.items() if path not in graded}
        return {**others, **self.files}

    @property
    def sources(self) -> dict[str, bytes]:
        """Return the scripts that all parts run with together."""
        found: dict[str, bytes] = {}
        for part in self.assignment.parts:
            if any(file in self.chosen for file in part.files):
                found = self.sources_of(part) | found
        return found

    def folders_of(self, part: Part) -> tuple[str, ...]:
        """Return the folders without scripts that lie beside a part's own file, by their paths."""
        own = next((file for file in part.files if file in self.chosen), None)
        start = f"{_root(self.chosen[own], own)}/".lstrip("/") if own else ""
        there = (name for name in self.submission.folders if name.startswith(start))
        return tuple(name.removeprefix(start) for name in there)

    def sources_of(self, part: Part) -> dict[str, bytes]:
        """Return the scripts that a part runs with, as if they lay side by side."""
        return {name: self.submission.files[path] for name, path in self._paths_of(part).items()}

    def _paths_of(self, part: Part) -> dict[str, str]:
        """Return where the scripts that a part runs with lie, by the paths they run under.

        They are those of the folder in which the part's own file lies, then the files of other
        parts, then what is imported from elsewhere. Support files are always the grader's.
        """
        own = {file: self.chosen[file] for file in part.files if file in self.chosen}
        root = next((_root(path, file) for file, path in own.items()), "")
        found = self._scripts.beside(root, own.values()) | own
        for file, path in self.chosen.items():
            if file not in found or self._is_unchanged(file, found[file]):
                found[file] = path
        elsewhere = [_root(path, file) for file, path in self.chosen.items()]
        found |= self._scripts.from_elsewhere(found, [root, *elsewhere])
        support = {*self.assignment.support}
        return {
            name: path
            for name, path in sorted(found.items())
            if name.endswith(".py") and name not in support
        }

    def folder_of(self, parts: Collection[str]) -> str:
        """Return the folder in which the first of these parts lies, or of all where none is named.

        It may be that of an archive or a notebook.
        """
        files = [
            file
            for part in self.assignment.parts
            for file in part.files
            if file in self.chosen and (not parts or part.name in parts)
        ]
        path = self.chosen[files[0]] if files else ""
        return _root(path, files[0]) if files else ""

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what a reader of the report must know of the rows."""
        roots = {_root(path, file) for file, path in self.chosen.items()}
        is_plain = len(roots) < 2 and all(
            path == file or path.endswith(f"/{file}") for file, path in self.chosen.items()
        )
        told = [
            f"{row.path} {row.why}"
            for row in self.rows
            if row.file and (not row.is_graded or not is_plain)
            if row.is_graded or self._is_worth_a_word(row)
        ]
        more = len(told) - _MAX_NOTES
        told = [*told[:_MAX_NOTES], *([f"and {more} more, not shown"] if more > 0 else [])]
        return (*told, *self._not_expected())

    def _not_expected(self) -> Iterator[str]:
        """Yield a sentence about files that are neither expected nor given, if there are some."""
        given = {file.name for file in self.assignment.template.rglob("*")}
        own = [
            row
            for row in self.rows
            if row.path.rpartition("/")[2] not in given and not is_hidden(row.path)
        ]
        reasons = (_NOT_ASKED_FOR, f"was not read: it {IS_OF_NO_KIND}")
        found = [row.path for row in own if row.why in reasons]
        run = {row.path for row in self.rows if row.is_graded or row.why == _RUNS_ALONG}
        along = [row.path for row in own if row.why == _RUNS_ALONG]
        unnamed = [each for each in along if not self._scripts.is_named(each, run - {each})]
        told = {"not expected, and not graded": found, "no graded file imports": unnamed}
        for what, paths in told.items():
            more = f", and {len(paths) - _MAX_NOTES} more" if len(paths) > _MAX_NOTES else ""
            if paths:
                yield f"{what}: {', '.join(paths[:_MAX_NOTES])}{more}"

    def _is_worth_a_word(self, row: HandedInFile) -> bool:
        """Return whether a file that is not graded is another version, or the only one."""
        if row.file not in self.chosen:
            return True
        content = self.submission.files.get(row.path)
        return content is not None and content != self.files[row.file]

    def is_template(self, file: str) -> bool:
        """Return whether what is graded as a file is the unchanged template."""
        return file in self.chosen and self._is_unchanged(file, self.chosen[file])

    def _is_unchanged(self, file: str, path: str) -> bool:
        return _is_code(self.submission.files[path], self._templates.get(file))

    @cached_property
    def _templates(self) -> dict[str, bytes]:
        return templates_of(self.assignment)

    @cached_property
    def _scripts(self) -> Scripts:
        return Scripts(self.submission.files)


def place(submission: Submission, assignment: Assignment) -> Placement:
    """Decide which file of a submission is graded as which file of an assignment.

    Of several that count for one, what differs from the template comes first, then the better
    rule, then the nearest to the place asked for, then the newest in its archive.
    """
    templates = templates_of(assignment)
    names = names_of(assignment)
    found: dict[str, list[_Candidate]] = {file: [] for file in names}
    rows: dict[str, HandedInFile] = {}
    for path, content in submission.files.items():
        rows[path] = HandedInFile(path, "", False, _NOT_ASKED_FOR)
        for file, rule in counts_for(path, names).items():
            if file in assignment.support:
                rows[path] = HandedInFile(
                    path, "", False, (f"is not used: the grader always uses its own {file}")
                )
                continue
            is_template = _is_code(content, templates.get(file))
            distance = num_folders_above(path, names[file])
            is_written = ".ipynb/" in path.lower()
            newest = -submission.times.get(path, 0)
            latest = tuple(-number for number in numbers_in(path))
            merits = (is_template, is_of_old_version(path), rule, distance, is_written)
            found[file].append((*merits, newest, latest, path))
    chosen: dict[str, str] = {}
    for file, candidates in found.items():
        for candidate in sorted(candidates):
            *_, path = candidate
            if file not in chosen:
                chosen[file], best = path, candidate
                why = f"is graded as {file}: {_RULES[candidate[2]]}"
                rows[path] = HandedInFile(path, file, True, why)
            elif not rows[path].is_graded:
                differs = [one != other for one, other in zip(best, candidate, strict=True)]
                why = f"is not graded ({chosen[file]} is): {_LATER[differs.index(True)]}"
                rows[path] = HandedInFile(path, file, False, why)
    for path, problem in submission.not_read.items():
        meant = [file for file in counts_for(path, names) if file not in assignment.support]
        why = f"was not read: it {problem}"
        rows[path] = HandedInFile(path, meant[0] if meant else "", False, why)
    ordered = sorted(rows.values(), key=lambda row: nearness(row.path))
    return Placement(submission, assignment, chosen, tuple(ordered))


def names_of(assignment: Assignment) -> dict[str, tuple[str, ...]]:
    """Return all names of each file that an assignment asks for or gives along."""
    names = {file: (file,) for file in assignment.support} | assignment.accepted_names
    for manual in assignment.manual:
        known = names.get(manual.file, (manual.file,))
        names[manual.file] = tuple(dict.fromkeys((*known, *manual.other_names)))
    return names


def templates_of(assignment: Assignment) -> dict[str, bytes]:
    """Return what students start from, by the file that is asked for."""
    paths = {file: assignment.template / file for file in assignment.handed_in}
    return {file: path.read_bytes() for file, path in paths.items() if path.is_file()}


def _is_code(content: bytes, template: bytes | None) -> bool:
    """Return whether a script differs from a template in comments and texts at most."""
    if template is None or len(content) > _MAX_TEMPLATE_NUM_BYTES:
        return False
    return all(ours == theirs for ours, theirs in zip_longest(_code(content), _code(template)))


def _code(content: bytes) -> Iterator[bytes]:
    """Yield the lines of a script, without those of comments and texts, and with texts emptied."""
    text = _TEXT.sub(_EMPTY, content.removeprefix(BOM_UTF8).replace(b"\r", b"\n"))
    for line in _CODE_LINE.finditer(text):
        if line[0].strip() != _EMPTY:
            yield line[0].rstrip()


def _root(path: str, file: str) -> str:
    """Return the folder from which a file has the path that is asked for, else that it lies in."""
    if path.endswith(f"/{file}"):
        return path.removesuffix(f"/{file}")
    return "" if path == file else path.rpartition("/")[0]

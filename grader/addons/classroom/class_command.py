"""The command that grades the hand-ins of a whole class: class."""

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from grader.addons.classroom import (
    batch,
    class_folder,
    class_inputs,
    erasure,
    outputs,
    platform_return,
    publication,
)
from grader.addons.classroom.batch import Task
from grader.addons.classroom.class_folder import Pseudonyms
from grader.addons.classroom.class_inputs import ClassInputs, circumstances, grading_options
from grader.addons.classroom.cores import blocks, cores_here
from grader.addons.classroom.gradings import Gradings, key_of
from grader.addons.classroom.outputs import show
from grader.addons.classroom.roster import HandIn
from grader.addons.classroom.standing import Rules, Work, standings
from grader.addons.classroom.tables import grouped, read_text
from grader.commands.context import is_sealed, say_visibly
from grader.course.secret import read_secret
from grader.model.errors import GraderError, UsageError
from grader.model.plural import counted

_REGRADE = "regrade.csv"
_PACKAGES = {"copydetect": "copydetect", "parsl": "parsl", "yaml": "pyyaml"}
"""Extra packages that a class needs, by the module that is imported."""

_NOT_RECORDED = "the grading was not recorded; grade again with --regrade"
_NOT_GRADED = "nothing has been recorded yet; run this command without --judge-again first"


@dataclass(frozen=True)
class _Class:
    """What is graded, and where the results go."""

    options: argparse.Namespace
    inputs: ClassInputs
    names: Pseudonyms
    gradings: Gradings
    out: Path

    def named(self, problems: Mapping[str, str]) -> list[str]:
        """Return why hand-ins have no grading, with their names; problems: by their digests."""
        hand_ins = [each for each in self.inputs.hand_ins if each.digest in problems]
        return grouped((each.label, problems[each.digest]) for each in hand_ins)


def grade_class(options: argparse.Namespace) -> int:
    """Grade what is not graded yet, and write everything.

    Return 0 if all students have marks and all hand-ins authors, 3 if the instructor must decide.
    Raises UsageError, GraderError.
    """
    if is_sealed():
        raise UsageError("`grade class` starts containers; run it outside a container")
    options.regrade = options.regrade or options.judge_again
    if options.publish and not options.regrade:
        raise UsageError(
            "--publish needs new marks from --regrade or --judge-again; add one of these options"
        )
    if options.unsealed and os.environ.get("GRADER_RECORDING_KEY_FILE"):
        raise UsageError(
            "--unsealed runs hand-ins as your user, so they could read the course's key; unset "
            "GRADER_RECORDING_KEY_FILE"
        )
    if missing := [name for module, name in _PACKAGES.items() if find_spec(module) is None]:
        raise UsageError(
            f"`grade class` needs {', '.join(missing)}; run `make class` in grader's repository"
        )
    out = options.out or Path(f"graded-{options.folder.resolve().name}")
    _make_apart(out, options.folder)
    with class_folder.alone_in(out):
        try:
            return _grade_into(out, options)
        except BrokenPipeError:  # nobody reads what is printed
            raise
        except OSError as error:
            raise GraderError(
                f"{error.filename or out}: {error.strerror or error}. Nothing was lost. Fix "
                "this problem and run the same command again"
            ) from None


def _grade_into(out: Path, options: argparse.Namespace) -> int:
    names = class_folder.pseudonyms_in(out)
    gradings = Gradings(out / "gradings")
    gradings.tidy()
    class_folder.remove_unfinished(out)
    table = None
    if options.fill is not None:
        table = platform_return.parse(read_text(options.fill), str(options.fill), options.column)
    whole = _Class(options, class_inputs.read(options, out), names, gradings, out)
    whole = replace(whole, inputs=_remembered(whole))
    inputs = whole.inputs
    if options.judge_again:
        secret_file = class_folder.known_secret_in(out)
    else:
        secret_file = None if options.unsealed else class_folder.secret_in(out)
    secret = b"" if secret_file is None else read_secret(secret_file)
    current = circumstances(options, inputs, secret)
    digests = [each.digest for each in inputs.hand_ins]
    published = publication.read(out)
    known = {digest: key for digest, key in published.items() if gradings.has(key)}
    if options.judge_again:  # a command that was interrupted has published nothing
        known |= gradings.recorded({*digests} - {*known})
    recordings = {digest: gradings.recording(key) for digest, key in known.items()}
    judged = recordings if options.judge_again else {}
    newest = {digest: key_of(current, digest, judged.get(digest)) for digest in digests}
    keys = newest if options.regrade else {**newest, **gradings.empty(digests), **known}
    if options.judge_again:  # without a grading, there is nothing to judge
        keys = {**keys, **_refused(digests, gradings)}
    for key in {*keys.values()} & {*newest.values()}:
        if gradings.may_change(key):
            gradings.remove(key)
    problems = _grade_missing(whole, keys, judged, secret_file)
    rules = Rules(inputs.roster, inputs.marks, inputs.said.policy, inputs.questions, names)
    earlier = {digest: why for digest, why in problems.items() if digest in known}
    for problem in whole.named(earlier) if options.publish else ():
        say_visibly(f"not graded again; the earlier mark stands: {problem}")
    keys, left = publication.falling_back(keys, known, problems)
    works = [_work(each, keys[each.digest], gradings, left) for each in inputs.hand_ins]
    works += (unreadable := [Work(each, None, each.problem) for each in inputs.unreadable])
    if options.regrade and not options.publish:
        there = [each for each in inputs.hand_ins if each.digest in known]
        before = [_work(each, known[each.digest], gradings, {}) for each in there]
        return _show_regrade(whole, rules, [*before, *unreadable], works, problems)
    # "Cannot be graded" is not kept as a mark, unless a regrade has replaced a mark by it.
    graded = {
        work.hand_in.digest
        for work in works
        if work.grading and (work.grading.report or work.hand_in.digest in known)
    }
    now = {
        digest: keys[digest] if digest in graded else published.get(digest) for digest in digests
    }
    found, strays = standings(works, rules)
    if table is not None:
        platform_return.require_same_worth(table, found)
    publication.write(out, {digest: key for digest, key in now.items() if key is not None})
    num_pairs = outputs.write_all(options, inputs, found, names, out)
    for line in outputs.summary(
        *(found, strays, inputs.unknown_times, out, num_pairs), has_sheets=options.sheets
    ):
        show(line)
    if table is not None and options.forget is None:  # whose line it still has
        outputs.give_back(table, found, out)
    elif filled := outputs.outdated(out):
        show(f"{filled[0]} may contain outdated marks; --fill FILE updates it")
    is_whole = all(each.final is not None for each in found)
    return 0 if is_whole and not (strays.hand_ins or strays.authors or strays.keys) else 3


def _remembered(whole: _Class) -> ClassInputs:
    """Return the inputs without forgotten students, including one forgotten by this command."""
    inputs, names, out = whole.inputs, whole.names, whole.out
    forget, fill = whole.options.forget, whole.options.fill
    before = erasure.owners(out)
    gone = erasure.forgotten(out)
    both = [*inputs.hand_ins, *inputs.unreadable]
    there, _ = erasure.without(both, inputs.roster, names, gone)
    if forget is not None:
        student = erasure.student_called(forget, both, inputs.roster, names, before)
        gone |= {names.of(student.id)}
        erasure.remember_to_forget(out, gone)
    left, roster = erasure.without(inputs.hand_ins, inputs.roster, names, gone)
    erasure.remove_copies(out, left)
    unreadable, _ = erasure.without(inputs.unreadable, inputs.roster, names, gone)
    if forget is not None:
        kept = [*left, *unreadable]
        theirs = [each for each in there if each not in kept]
        is_in_team = any(student in inputs.roster.authors(each) for each in kept)
        number = erasure.remove(
            out, whole.gradings, names.of(student.id), theirs, left, is_in_team=is_in_team
        )
        show(f"{student.id}: removed {counted(number, 'grading')} and all reports")
        for each in theirs:
            for file in each.files or (each.path,):
                show(f"  delete the downloaded hand-in yourself: {file}")
        sent = [each for each in kept if student.group and inputs.roster.sender(each) == student]
        for each in sent:
            show(f"  rename the team's hand-in to {student.group} yourself: {each.path}")
        # A team's points are under the pseudonym of one member.
        labels = (each.label for each in [*theirs, *sent])
        called = {student.id, *student.known_as.values(), *labels}
        called |= set() if is_in_team else {names.of(student.id)}
        for place in erasure.lines_with(called, [*inputs.files, *filter(None, [fill])]):
            show(f"  remove the student yourself: {place}")
        before = erasure.owners(out)
    now = erasure.owners_of(left, roster, names)
    if not erasure.is_known(before, now):
        raise UsageError(
            f"{out} belongs to another class: none of its students has a hand-in here; name "
            "another --out"
        )
    erasure.remember_owners(out, {**before, **now})
    return replace(inputs, hand_ins=left, unreadable=unreadable, roster=roster)


def _make_apart(out: Path, folder: Path) -> None:
    """Make the output folder. Raises UsageError if it is inside the folder of the hand-ins."""
    if not folder.is_dir():
        raise UsageError(
            f"{folder} is not a folder. Unpack the platform's download, and name the unpacked "
            "folder, which must contain a folder or an archive for each hand-in"
        )
    if folder.resolve() in (out.resolve(), *out.resolve().parents):
        raise UsageError(
            f"{out} is inside the folder of the hand-ins; name another folder with --out"
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
        out.chmod(0o700)  # it holds names, marks and code
    except OSError as error:
        raise UsageError(f"{out} cannot be created: {error.strerror}; name another --out") from None


def _grade_missing(
    whole: _Class,
    keys: Mapping[str, str],
    recordings: Mapping[str, Path | None],
    secret_file: Path | None,
) -> dict[str, str]:
    """Grade each ungraded hand-in; return why some have no grading. All are by digest."""
    options, gradings = whole.options, whole.gradings
    different = {each.digest: each for each in whole.inputs.hand_ins}
    missing = [each for each in different.values() if not gradings.has(keys[each.digest])]
    why = "cannot be graded, so there is nothing to judge again"
    is_refused = gradings.is_refused if options.judge_again else lambda _: False
    refused = {digest: why for digest in different if is_refused(keys[digest])}
    if number := len(different) - len(missing) - len(refused):
        what, done = ("judge", "judged") if options.judge_again else ("grade", "graded")
        by = " with these versions" if options.judge_again or options.regrade else ""
        say_visibly(f"{number} already {done}{by}, {len(missing)} to {what}")
    for line in whole.named(refused):
        say_visibly(line)
    if not missing:
        return {}
    if not (options.judge_again or options.unsealed):
        kept = {keys[digest] for digest in different} - {keys[each.digest] for each in missing}
        class_inputs.require_image_of_course(options, whole.inputs, gradings.courses_of(kept))
    unrecorded = {
        each.digest: _NOT_RECORDED if gradings.keys_of([each.digest]) else _NOT_GRADED
        for each in missing
        if options.judge_again and recordings.get(each.digest) is None
    }
    how = ["judge"] if options.judge_again else ["check"] if options.unsealed else ["run"]
    how += grading_options(options, whole.inputs)
    how += ["--require-mark"] if options.judge_again and not options.unsealed else []
    key_file = None if options.unsealed else class_folder.recording_key_in(whole.out)
    gradings.folder.mkdir(parents=True, exist_ok=True)
    cores = 1 if options.judge_again else options.cores
    tasks = [
        Task(
            key=keys[each.digest],
            digest=each.digest,
            path=_path(each.path),
            gradings=_path(gradings.folder),
            arguments=tuple(how),
            recording=_path(recordings.get(each.digest)),
            secret_file=_path(secret_file),
            key_file=_path(key_file),
            cores=cores,
            memory_num_bytes=options.memory,
        )
        for each in missing
        if each.digest not in unrecorded
    ]
    if options.cluster is not None:
        running = batch.on_cluster(options.cluster, cores, options.memory, whole.out / "parsl")
    else:
        most = len(blocks(here := cores_here(), cores))
        if (options.jobs or 0) > most and not options.judge_again:
            has = counted(len(here), "core")
            say_visibly(f"grading {most} at a time: this machine has {has}, and --cores is {cores}")
        running = batch.on_this_machine(options.jobs or most)
    labels = {each.digest: each.label for each in missing}
    with running as submit:
        return {**unrecorded, **batch.grade_all(tasks, labels, submit, say_visibly)}


def _path(file: Path | None) -> str:
    """Return a path that is valid on every machine that grades; empty for none."""
    return "" if file is None else str(file.resolve())


def _refused(digests: Sequence[str], gradings: Gradings) -> dict[str, str]:
    """Return the keys of gradings that say that a hand-in cannot be graded, by its digest."""
    found = {digest: gradings.keys_of([digest]) for digest in digests}
    return {
        digest: keys[-1]
        for digest, keys in found.items()
        if keys and all(map(gradings.is_refused, keys))
    }


def _work(hand_in: HandIn, key: str, gradings: Gradings, problems: Mapping[str, str]) -> Work:
    if problem := problems.get(hand_in.digest):
        return Work(hand_in, None, problem)
    try:
        return Work(hand_in, gradings.load(key))
    except GraderError as error:
        return Work(hand_in, None, str(error))


def _show_regrade(
    whole: _Class,
    rules: Rules,
    before: Sequence[Work],
    now: Sequence[Work],
    problems: Mapping[str, str],
) -> int:
    """Write and print what would change; return 0, or 3 where some could not be graded again.

    before: the hand-ins with their published gradings. problems: by digest.
    """
    try:
        then, again = (standings(works, rules)[0] for works in (before, now))
    except UsageError as error:
        for mistake in error.args:
            show(mistake)
        show(f"  so {_REGRADE} compares marks without points by hand")
        rules = replace(rules, marks={})
        then, again = (standings(works, rules)[0] for works in (before, now))
    published = {each.student.id: each for each in then if each.counted}
    damaged = [each for each in (*before, *now) if each.problem and not each.hand_in.problem]
    problems = {**{each.hand_in.digest: each.problem for each in damaged}, **problems}
    regrades = [
        publication.Regrade(published[each.student.id], each)
        for each in again
        if each.student.id in published
        and each.counted
        and each.counted.hand_in.digest not in problems
    ]
    file = whole.out / _REGRADE
    class_folder.write_atomically(file, publication.render(regrades))
    for line in publication.summary(regrades):
        show(line)
    for problem in whole.named(problems):
        show(f"  not graded again: {problem}")
    how = "--judge-again" if whole.options.judge_again else "--regrade"
    show(f"{file} lists each change; nothing is published without {how} --publish")
    return 3 if problems else 0

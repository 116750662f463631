"""The command that grades what a whole class has handed in: class."""

import argparse
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from grader.addons.classroom import (
    batch,
    class_inputs,
    class_results,
    class_secret,
    cluster_file,
    erasure,
    optional_imports,
    outputs,
    owners,
    publication,
    regrading,
)
from grader.addons.classroom.class_inputs import ClassInputs, circumstances, grading_options
from grader.addons.classroom.class_results import show
from grader.addons.classroom.cores import blocks, cores_here
from grader.addons.classroom.executors import running
from grader.addons.classroom.gradings import Gradings, remove_unfinished, write_atomically
from grader.addons.classroom.hand_in import HandIn
from grader.addons.classroom.output_lock import alone_in
from grader.addons.classroom.pseudonyms import Pseudonyms, kept_in
from grader.addons.classroom.standing import Rules, Work, standings
from grader.addons.classroom.task import Task
from grader.commands.context import is_sealed, say_visibly
from grader.course.secret import read_secret
from grader.model.errors import GraderError, UsageError

_REGRADE = "regrade.csv"


def grade_class(options: argparse.Namespace) -> int:
    """Grade what is not graded yet, and write everything.

    Return 0 if every student has a mark and nothing is nobody's, 3 if a person has to look.
    Raises UsageError, GraderError.
    """
    if is_sealed(os.environ):
        raise UsageError("`grade class` starts containers; run it outside of them")
    options.regrade = options.regrade or options.judge_again
    if options.publish and not options.regrade:
        raise UsageError(
            "--publish accepts what --regrade or --judge-again has found; name one of them"
        )
    if options.unsealed and os.environ.get("GRADER_RECORDING_KEY_FILE"):
        raise UsageError(
            "--unsealed runs hand-ins as your user, so they could read the course's key; unset "
            "GRADER_RECORDING_KEY_FILE"
        )
    optional_imports.require()
    out = options.out or Path(f"graded-{options.folder.resolve().name}")
    _require_apart(options.folder, out)
    with alone_in(out):
        try:
            return _grade_into(out, options)
        except BrokenPipeError:  # nobody reads what is printed
            raise
        except OSError as error:
            raise GraderError(
                f"{error.filename or out}: {error.strerror or error}. Nothing was lost. Fix "
                "this and run the same command again"
            ) from None


def _grade_into(out: Path, options: argparse.Namespace) -> int:
    names = kept_in(out / "pseudonyms.key")
    gradings = Gradings(out / "gradings")
    gradings.tidy()
    remove_unfinished(out)
    table = class_results.table_to_fill(options)
    inputs = _remembered(options, class_inputs.read(options, out), names, gradings, out)
    secret_file = _secret_file(options, out)
    secret = b"" if secret_file is None else read_secret(secret_file)
    current = circumstances(options, inputs, secret)
    published = publication.read(out / publication.NAME)
    known = {digest: key for digest, key in published.items() if gradings.has(key)}
    recordings = _recordings(known, gradings) if options.judge_again else {}
    newest = {
        each.digest: current.key(each.digest, recordings.get(each.digest))
        for each in inputs.hand_ins
    }
    keys = newest if options.regrade else {**newest, **known}
    if options.judge_again:  # what could not be graded has nothing to be judged
        keys = {**keys, **_refused(inputs, gradings)}
    for key in {*keys.values()} & {*newest.values()}:
        # It may have been the data, or a right to read, and that is in no key.
        if gradings.is_refused(key):
            gradings.remove(key)
    problems = _grade_missing(options, inputs, keys, gradings, out, recordings, secret_file)
    if options.regrade and not options.publish:
        how = "--judge-again" if options.judge_again else "--regrade"
        return _show_regrade(inputs, known, keys, gradings, problems, names, out, how)
    for problem in _named(problems, keys, inputs) if options.publish else ():
        say_visibly(f"not graded again; the earlier mark stays: {problem}")
    keys = publication.falling_back(keys, known, problems)
    works = [_work(each, keys, gradings, problems) for each in inputs.hand_ins]
    # What cannot be graded is no mark to be kept, unless a regrade has put it in place of one.
    graded = {
        work.hand_in.digest: keys[work.hand_in.digest]
        for work in works
        if work.grading and (work.grading.report or work.hand_in.digest in known)
    }
    left = {each.digest for each in inputs.hand_ins}
    kept = {digest: key for digest, key in published.items() if digest in left}
    publication.write(out / publication.NAME, {**kept, **graded})
    rules = Rules(inputs.roster, inputs.marks, inputs.said.policy, inputs.questions, names)
    found, strays = standings(works, rules, inputs.unreadable)
    num_pairs = class_results.write(options, inputs, found, names, out)
    for line in outputs.summary(found, strays, inputs.unknown_times, out, num_pairs):
        show(line)
    if table is not None:
        class_results.give_back(table, found, out)
    is_whole = all(each.final is not None for each in found)
    return 0 if is_whole and not (strays.has_hand_ins or strays.authors) else 3


def _remembered(
    options: argparse.Namespace,
    inputs: ClassInputs,
    names: Pseudonyms,
    gradings: Gradings,
    out: Path,
) -> ClassInputs:
    """Return the inputs without who was forgotten, also just now."""
    gone = erasure.forgotten(out)
    there, _ = erasure.without(inputs.hand_ins, inputs.roster, names, gone)
    if options.forget is not None:
        student = erasure.student_called(
            options.forget, inputs.hand_ins, inputs.roster, names, owners.read(out)
        )
        gone |= {names.of(student.id)}
        erasure.remember_to_forget(out, gone)
    left, roster = erasure.without(inputs.hand_ins, inputs.roster, names, gone)
    if options.forget is not None:
        theirs = [each for each in there if each not in left]
        number = erasure.remove(out, gradings, names.of(student.id), theirs, left)
        show(f"{student.id} is forgotten: {number} gradings and all reports are removed")
        for each in theirs:
            show(f"  remove what the platform delivered yourself: {each.path}")
    before = owners.read(out)
    if not owners.is_known(before, left, roster, names):
        raise UsageError(
            f"{out} belongs to another class: none of its students has handed in here; name "
            "another --out"
        )
    owners.remember(out, before, left, roster, names)
    unreadable = [
        each
        for each in inputs.unreadable
        if roster.authors(each.hand_in) or not inputs.roster.authors(each.hand_in)
    ]
    return replace(inputs, hand_ins=left, unreadable=unreadable, roster=roster)


def _require_apart(folder: Path, out: Path) -> None:
    """Raise UsageError where what is written would be among what was handed in."""
    if out.resolve() == folder.resolve() or folder.resolve() in out.resolve().parents:
        raise UsageError(
            f"{out} is inside the folder of the hand-ins; name another folder with --out"
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
        out.chmod(0o700)  # it holds names, marks and code
    except OSError as error:
        raise UsageError(f"{out} cannot be made: {error.strerror}; name another --out") from None


def _secret_file(options: argparse.Namespace, out: Path) -> Path | None:
    """Return the file of the class's secret; None where its inputs are public."""
    if options.judge_again:
        return class_secret.known_in(out)
    return None if options.unsealed else class_secret.kept_in(out)


def _grade_missing(
    options: argparse.Namespace,
    inputs: ClassInputs,
    keys: Mapping[str, str],
    gradings: Gradings,
    out: Path,
    recordings: Mapping[str, Path],
    secret_file: Path | None,
) -> dict[str, str]:
    """Grade each hand-in that is not; return why some have none, by their keys.

    recordings: by digest, what is judged again. secret_file: of the class; None for public inputs.
    """
    different = {each.digest: each for each in inputs.hand_ins}
    missing = [each for each in different.values() if not gradings.has(keys[each.digest])]
    if len(missing) < len(different):
        say_visibly(f"{len(different) - len(missing)} graded before, {len(missing)} to grade")
    if not missing:
        return {}
    unrecorded = {
        keys[each.digest]: "its grading was not recorded; grade it again with --regrade"
        for each in missing
        if options.judge_again and each.digest not in recordings
    }
    command: tuple[str, ...]
    how = "judge" if options.judge_again else "check" if options.unsealed else "run"
    command = (how, *grading_options(options, inputs))
    if options.judge_again and not options.unsealed:
        command += ("--require-mark",)
    key_file = "" if options.unsealed else str(class_secret.recording_key_in(out).resolve())
    gradings.folder.mkdir(parents=True, exist_ok=True)
    kept_in_folder = str(gradings.folder.resolve())
    tasks = [
        Task(
            keys[each.digest],
            each.digest,
            str(each.path.resolve()),
            kept_in_folder,
            command,
            str(recordings.get(each.digest, "")),
            str(secret_file.resolve()) if secret_file is not None else "",
            key_file,
            1 if options.judge_again else options.cores,
            options.memory,
        )
        for each in missing
        if keys[each.digest] not in unrecorded
    ]
    labels = {keys[each.digest]: each.label for each in missing}
    cluster = None
    if options.cluster is not None:
        cluster = cluster_file.read(options.cluster, options.cores)
    cores = 1 if options.judge_again else options.cores
    jobs = options.jobs or len(blocks(cores_here(), cores))
    with running(cluster, jobs, options.memory, out / "parsl") as submit:
        ended = list(batch.grade_all(tasks, submit, outputs.teller(labels, say_visibly)))
    return {**unrecorded, **{each.task.key: each.problem for each in ended if each.problem}}


def _refused(inputs: ClassInputs, gradings: Gradings) -> dict[str, str]:
    """Return the keys of gradings that say that a hand-in cannot be graded, by its digest."""
    found = ((each.digest, gradings.keys_of([each.digest])) for each in inputs.hand_ins)
    return {
        digest: keys[-1] for digest, keys in found if keys and all(map(gradings.is_refused, keys))
    }


def _recordings(known: Mapping[str, str], gradings: Gradings) -> dict[str, Path]:
    """Return where what was seen of hand-ins lies, by their digests."""
    files = {digest: gradings.recording(key) for digest, key in known.items()}
    return {digest: file.resolve() for digest, file in files.items() if file is not None}


def _work(
    hand_in: HandIn,
    keys: Mapping[str, str],
    gradings: Gradings,
    problems: Mapping[str, str],
) -> Work:
    key = keys[hand_in.digest]
    if key in problems:
        return Work(hand_in, None, problems[key])
    try:
        return Work(hand_in, gradings.load(key))
    except GraderError as error:
        return Work(hand_in, None, str(error))


def _show_regrade(
    inputs: ClassInputs,
    published: Mapping[str, str],
    keys: Mapping[str, str],
    gradings: Gradings,
    problems: Mapping[str, str],
    names: Pseudonyms,
    out: Path,
    how: str,
) -> int:
    """Write and print what would change; return 0, or 3 where some could not be graded again.

    how: the option that has asked for it.
    """
    regrades = []
    failed = _named(problems, keys, inputs)
    for each in inputs.hand_ins:
        if each.digest in published and keys[each.digest] not in problems:
            students = tuple(names.of(student.id) for student in inputs.roster.authors(each))
            try:
                before, now = (gradings.load(of[each.digest]) for of in (published, keys))
            except GraderError as error:  # of one, and the others are told
                failed.append(f"{each.label}: {error}")
                continue
            regrades.append(regrading.Regrade(each.label, students, before, now))
    write_atomically(out / _REGRADE, regrading.render(regrades))
    for line in regrading.summary(regrades):
        show(line)
    for problem in failed:
        show(f"  not graded again: {problem}")
    show(f"{out / _REGRADE} lists each check; nothing is published without {how} --publish")
    return 3 if failed else 0


def _named(problems: Mapping[str, str], keys: Mapping[str, str], inputs: ClassInputs) -> list[str]:
    """Return why hand-ins have no grading, with what they are called."""
    return [
        f"{each.label}: {problems[keys[each.digest]]}"
        for each in inputs.hand_ins
        if keys[each.digest] in problems
    ]

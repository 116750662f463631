"""The command that has a container grade: run, for the mark."""

import argparse
import os
from dataclasses import replace
from pathlib import Path

from grader.commands.arguments import DEFAULT_IMAGE, selecting
from grader.commands.context import courses_of, data_folder, live_view, named_courses
from grader.commands.reporting import (
    finish,
    is_kept,
    named_seed,
    named_submission,
    require_reports_writable,
)
from grader.course.course import Course
from grader.course.courses import bundled, bundled_root, how_to_build
from grader.course.secret import recording_key, require_kept, sealed_secret
from grader.model.errors import GraderError
from grader.model.report import Report
from grader.observe.interposer.build import cache_folder
from grader.recording.recording import parse, write_packed
from grader.report import json_report
from grader.report.files import require_writable
from grader.sealed.container import sealed_grading
from grader.sealed.container.plan import ContainerLimits


def run(options: argparse.Namespace) -> int:
    """Grade a submission in a container; return the exit code of its mark."""
    folder = named_submission(options)
    require_reports_writable(options)
    require_writable([options.recording])
    # The container's client is no terminal: what it says comes in whole lines.
    secret = sealed_secret(named_seed(options))
    if options.recording is not None:
        require_kept(secret.seed, is_kept=is_kept(options))
    key = recording_key(is_sealed=True)
    recordings: list[bytes] = []
    with live_view(options, verbose=options.verbose, quiet=options.quiet) as live:
        data = sealed_grading.grade_in_container(
            folder,
            courses=courses_of(options),
            image=options.image,
            assignment=options.assignment,
            options=[*selecting(options), "--", str(folder)],
            data=data_folder(options),
            on_progress=live.progress,
            on_finished=live.ended,
            secret=secret.data,
            limits=_limits(options),
            on_recording=None if options.recording is None else recordings.append,
            refusals=_refusals(),
        )
    report = replace(json_report.parse(data), seed=secret.seed)
    exit_code = finish(_as_named(report, options), options)
    if options.recording is not None:
        parse(recordings[-1], f"from the image {options.image!r}")
        write_packed(options.recording, recordings[-1], key)
    return exit_code


def _refusals() -> Path | None:
    """Return where the selftest on this machine's kernel is remembered; None for nowhere."""
    try:
        # Another engine can have another kernel.
        return None if os.environ.get("DOCKER_HOST") else cache_folder() / "selftest"
    except RuntimeError:  # a user without a home
        return None


def _limits(options: argparse.Namespace) -> ContainerLimits:
    limits = ContainerLimits(cpus=options.cpus or "")
    return limits if options.memory is None else replace(limits, memory_num_bytes=options.memory)


def _as_named(report: Report, options: argparse.Namespace) -> Report:
    """Return the report as its client sees it: what was named, and whether the image is of that.

    Raises GraderError for a mark by another course than those that --course names.
    """
    named = [Course.read(folder) for folder in named_courses(options)]
    if named and report.versions.course not in [course.name for course in named]:
        raise GraderError(
            f"the image {options.image!r} graded with its course {report.versions.course}, not "
            f"with {named[0].name}; with --image, name the image that `grade build` made"
        )
    for course in named or ([bundled()] if bundled_root() else []):
        found = (report.versions.course, report.versions.course_digest)
        if course.name == found[0] and course.digest() != found[1]:
            text = (
                f"the version of the course {course.name} in the image {options.image!r} differs "
                f"from the one in {course.root}. The mark comes from the image. For a new one, "
                f"{how_to_build(course)}"
            )
            report = replace(report, notes=(text, *report.notes))
    is_default = options.image == DEFAULT_IMAGE
    return replace(
        report,
        named=options.assignment or "",
        course_folder=next(map(str, named_courses(options)), ""),
        image="" if is_default else options.image,
    )

"""The command that builds the images of a course, and its students' installation."""

import argparse
import io
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from grader.addons.authoring import template
from grader.addons.authoring.installation import folder
from grader.addons.authoring.installation.folder import EngineWheels
from grader.addons.authoring.verification.static_checks import check_student_edition
from grader.commands.context import courses_of, named_courses, say
from grader.course.course import Course
from grader.course.edition import Files, edition
from grader.course.versions import engine_digest, lock_file
from grader.model.errors import GraderError, UsageError
from grader.sealed.container.plan import COURSE_LABEL, SOURCE_LABEL

_IN_IMAGE = PurePosixPath("/opt/course")
_ROOT_ALONE = 0o600
"""A submission runs as another user, which may read no file of the course."""


def build(options: argparse.Namespace) -> int:
    """Build the images of a course, or what its students install."""
    if len(named_courses(options)) > 1:
        raise UsageError("--course names several courses; name only the one to build")
    if options.installation is None and options.url is not None:
        raise UsageError("--url has no effect without --installation FOLDER; add --installation")
    course = courses_of(options).courses[0]
    refusals = list(_refusals(course))
    if refusals:
        raise GraderError(*refusals)
    if options.files is not None:
        return _write_editions(options.files, course)
    if options.installation is not None:
        return _write_installation(options, course)
    return _build_images(options, course)


def _write_editions(folder: Path, course: Course) -> int:
    """Write the files of a course's images, for the course's own Dockerfile."""
    template.require_free(folder)
    for kind in ("course", "student"):
        files = edition(course, is_for_students=kind == "student")
        template.write_files({folder / kind / at: path.read_bytes() for at, path in files.items()})
        print(folder / kind)
    return 0


def _write_installation(options: argparse.Namespace, course: Course) -> int:
    template.require_free(options.installation)
    lock = lock_file()
    if lock is None:
        raise GraderError(
            "this engine has no requirements.lock, which lists the packages that students install. "
            "Install the engine from a checkout or from its wheel, and run `grade build` again"
        )
    engine = EngineWheels.find(options.wheels)
    files = edition(course, is_for_students=True)
    for path in folder.write(
        options.installation, course, files, engine, lock.read_text(), options.url
    ):
        print(path)
    say(
        "to install the course, students run this in a virtual environment: "
        f"{folder.install_line(options.url)}"
    )
    return 0


def _build_images(options: argparse.Namespace, course: Course) -> int:
    """Build the image of a course, and the one that its students may have."""
    from grader.sealed.container.docker_engine import (
        DockerEngine,  # which an installation does without
    )

    tag = options.tag or course.name
    engine = DockerEngine.connect()
    made_by = engine.label(options.base, SOURCE_LABEL)
    if made_by != engine_digest():
        say(
            f"note: {options.base} has engine {made_by[:12] or 'unknown'}, but this command has "
            f"engine {engine_digest()[:12]}. New images grade with the engine of {options.base}; "
            f"`make image` rebuilds {options.base}"
        )
    for name, kind in ((tag, "course"), (f"{tag}-student", "student")):
        files = edition(course, is_for_students=kind == "student")
        # The students' image has another digest, because it lacks the hidden tests.
        held = f"{course.name} {course.digest()}" if kind == "course" else course.name
        labels = {COURSE_LABEL: held, "grader.edition": kind}
        say(f"building {name}: {len(files)} files from {course.root} on {options.base}")
        engine.build(_build_context(options.base, files, labels, name), name)
        print(name)
    return 0


def _refusals(course: Course) -> Iterator[str]:
    """Yield why students cannot be given their edition of a course."""
    assignments = course.assignments()
    if not assignments:
        yield f"there is nothing to build: {course.suites} contains no assignments"
    for assignment in assignments:
        for problem in check_student_edition(course, assignment):
            yield f"{problem.subject}: {problem.text}"
        for file in assignment.support_paths().values():
            if file.is_relative_to(course.references):
                yield (
                    f"{file} is a support file that only the reference has, so students do not "
                    f"get it. Write the template again: `grade template {assignment.name} FOLDER`"
                )


def _build_context(base: str, files: Files, labels: Mapping[str, str], name: str) -> bytes:
    """Return the tar that an image is built from: its Dockerfile, and the files of the course."""
    lines = [f"FROM {base}", f"COPY course {_IN_IMAGE}", f"RUN chmod 0700 {_IN_IMAGE}"]
    lines += [f"ENV GRADER_COURSE={_IN_IMAGE} GRADER_IMAGE={name}"]
    if labels.get("grader.edition") == "student":  # who sees the same twice
        lines += ["ENV GRADER_PUBLIC_INPUTS=1"]
    lines += [f'LABEL {name}="{value}"' for name, value in labels.items()]
    contents = {"Dockerfile": "\n".join(lines).encode()}
    contents |= {f"course/{each}": path.read_bytes() for each, path in sorted(files.items())}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in contents.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), _ROOT_ALONE
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()

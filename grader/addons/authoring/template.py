"""Makes the template that students start from: the reference without its marked solutions.

What many assignments share is copied in beside it.
"""

import contextlib
import os
from collections.abc import Collection, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path

from grader.addons.authoring.handout_parts import of_parts
from grader.addons.authoring.solutions import strip_solutions
from grader.course.assignment import Assignment
from grader.model.errors import GraderError, UsageError

HANDOUT = "HANDOUT.md"
NOTHING_SHARED: Mapping[str, Path] = {}


def require_free(output_dir: Path) -> None:
    """Raise UsageError for a folder that cannot be looked into, or already holds something."""
    try:
        is_free = not output_dir.exists() or not any(output_dir.iterdir())
    except OSError as error:
        raise UsageError(
            f"{output_dir} cannot be written to: {error.strerror}; name a new folder"
        ) from None
    if not is_free:
        raise UsageError(
            f"{output_dir} is not empty; name a new folder, so that nothing is overwritten"
        )


def write(assignment: Assignment, output_dir: Path, parts: Collection[str] | None = None) -> None:
    """Write the template of an assignment: from its reference where that is installed, else as is.

    parts: that its handout is about; None for all. All files are written, since given programs may
    import them. Raises UsageError for an unknown part, and as `generate` does.
    """
    if parts is not None and (sentence := assignment.wrong_part(parts)):
        raise UsageError(sentence)
    if assignment.reference.is_dir():
        generate(assignment.reference, output_dir, assignment.shared_support())
    else:
        copy(assignment.template, output_dir)
    handout = output_dir / HANDOUT
    if parts is not None and handout.is_file():
        handout.write_text(of_parts(handout.read_text(), assignment, parts))


def generate(
    reference_dir: Path, output_dir: Path, shared: Mapping[str, Path] = NOTHING_SHARED
) -> list[Path]:
    """Write the template of the reference in reference_dir to output_dir; return its files, sorted.

    shared: further files of the template, by their paths in it, with where they lie.
    Raises GraderError for a reference that is empty or wrongly marked (naming file and line), and
    UsageError as `require_free` does.
    """
    return _write(output_dir, _template_of(reference_dir, shared))


def copy(template_dir: Path, output_dir: Path) -> list[Path]:
    """Write the ready template in template_dir to output_dir; return its files, sorted.

    Bytecode stays behind: that of an image is never compared with its source, so that Python would
    run it instead of what a student has written. Raises GraderError where there is no template,
    UsageError as `generate` does.
    """
    template = _files_in(template_dir)
    if not template:
        raise GraderError(f"{template_dir} holds no template")
    return _write(output_dir, template)


def drift(
    reference_dir: Path, template_dir: Path, shared: Mapping[str, Path] = NOTHING_SHARED
) -> list[str]:
    """Return a sentence for each file of template_dir that generate() would write differently.

    Raises GraderError for a reference that is empty or wrongly marked.
    """
    expected, actual = _template_of(reference_dir, shared), _files_in(template_dir)
    sources = {Path(relative): path for relative, path in shared.items()}
    sentences = [
        f"{template_dir / relative} is made from no file of {reference_dir}"
        for relative in actual.keys() - expected.keys()
    ]
    for relative, content in expected.items():
        if relative not in actual:
            sentences.append(
                f"{template_dir / relative} is missing; "
                f"{sources.get(relative, reference_dir / relative)} makes it"
            )
        elif actual[relative] != content:
            line = _first_difference(actual[relative], content)
            sentences.append(
                f"{template_dir / relative} differs in line {line} from what "
                f"{sources.get(relative, reference_dir / relative)} makes"
            )
    return sorted(sentences)


def _write(output_dir: Path, template: Mapping[Path, bytes]) -> list[Path]:
    """Write files by their paths in output_dir; all that is made belongs to whom the place does."""
    files = {output_dir / relative: content for relative, content in template.items()}
    require_free(output_dir)
    try:
        for path, content in files.items():
            for folder in reversed(list(_missing_folders(path))):
                folder.mkdir()
                _give_to_owner_of(folder.parent, folder)
            path.write_bytes(content)
            _give_to_owner_of(path.parent, path)
    except OSError as error:
        raise UsageError(
            f"the template cannot be written to {output_dir}: {error.strerror} "
            f"({error.filename}); name another folder"
        ) from error
    return sorted(files)


def _missing_folders(path: Path) -> Iterator[Path]:
    """Yield the folders above path that do not exist, the nearest first."""
    for folder in path.absolute().parents:
        if folder.exists():
            return
        yield folder


def _give_to_owner_of(folder: Path, path: Path) -> None:
    """Give what root has made to the owner of the folder: in a container everybody is root."""
    wanted, found = folder.stat(), path.stat()
    if os.geteuid() == 0 and (found.st_uid, found.st_gid) != (wanted.st_uid, wanted.st_gid):
        # Some file systems know no owners; what is there can be read in any case.
        with contextlib.suppress(OSError):
            os.chown(path, wanted.st_uid, wanted.st_gid)


def _template_of(reference_dir: Path, shared: Mapping[str, Path]) -> dict[Path, bytes]:
    """Return the contents of the template's files by their path in it."""
    reference = _files_in(reference_dir)
    if not reference:
        raise GraderError(f"{reference_dir} holds no reference for a template")
    template = {
        relative: _stripped(content, relative) if relative.suffix == ".py" else content
        for relative, content in reference.items()
    }
    return {**template, **{Path(name): path.read_bytes() for name, path in shared.items()}}


def _files_in(folder: Path) -> dict[Path, bytes]:
    """Return the contents of all files below folder but hidden ones and compiled Python."""
    relatives = (path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file())
    return {
        relative: (folder / relative).read_bytes()
        for relative in relatives
        if not any(name.startswith(".") or name == "__pycache__" for name in relative.parts)
    }


def _stripped(content: bytes, relative: Path) -> bytes:
    try:
        source = content.decode()
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise GraderError(f"{relative.as_posix()}:{line}: this is not UTF-8") from error
    return strip_solutions(source, relative.as_posix()).encode()


def _first_difference(actual: bytes, expected: bytes) -> int:
    """Return the number, from 1, of the first line in which two different files differ."""
    pairs = zip_longest(actual.split(b"\n"), expected.split(b"\n"))
    return next(number for number, (a, b) in enumerate(pairs, start=1) if a != b)

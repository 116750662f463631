"""Makes the template that students start from: the reference without its marked solutions.

What many assignments share is copied in beside it.
"""

from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path

from grader.authoring.solutions import strip_solutions
from grader.errors import GraderError, UsageError

NOTHING_SHARED: Mapping[str, Path] = {}


def generate(
    reference_dir: Path, output_dir: Path, shared: Mapping[str, Path] = NOTHING_SHARED
) -> list[Path]:
    """Write the template of the reference in reference_dir to output_dir; return its files, sorted.

    shared: further files of the template, by their paths in it, with where they lie.
    Raises GraderError for a reference that is empty or wrongly marked (naming file and line), and
    UsageError, before anything is written, where a file with other contents is in the way.
    """
    template = {
        output_dir / relative: content
        for relative, content in _template_of(reference_dir, shared).items()
    }
    try:
        for path, content in template.items():
            if path.exists() and (not path.is_file() or path.read_bytes() != content):
                raise UsageError(
                    f"{path} exists and is not the untouched template: name a new folder, so that "
                    "nobody's work is overwritten"
                )
        for path, content in template.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    except OSError as error:
        raise UsageError(
            f"the template cannot be written to {output_dir}: {error.strerror} "
            f"({error.filename}); name another folder"
        ) from error
    return sorted(template)


def drift(
    reference_dir: Path, template_dir: Path, shared: Mapping[str, Path] = NOTHING_SHARED
) -> list[str]:
    """Return a sentence for each file of template_dir that generate() would write differently.

    Raises GraderError for a reference that is empty or wrongly marked.
    """
    expected, actual = _template_of(reference_dir, shared), _files_in(template_dir)
    sources = {Path(relative): path for relative, path in shared.items()}
    sentences = [
        f"{template_dir / relative} is not made from any file of {reference_dir}"
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
                f"{template_dir / relative} differs at line {line} from what "
                f"{sources.get(relative, reference_dir / relative)} makes"
            )
    return sorted(sentences)


def _template_of(reference_dir: Path, shared: Mapping[str, Path]) -> dict[Path, bytes]:
    """Return the contents of the template's files by their path in it."""
    reference = _files_in(reference_dir)
    if not reference:
        raise GraderError(f"{reference_dir} holds no reference to make a template from")
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

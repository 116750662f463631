"""The images, layer by layer: what students get holds no solution, no hidden test and no secret.

A copy of the project gets hidden tests and a secret with canaries in them, and both editions are
built from it, without the installed packages. One search goes through every file of every layer,
also what a later layer removes, and through what the images say of their making. The same search
has to find everything in the course's edition: otherwise it would not notice it in the student's.
"""

import ast
import hashlib
import io
import json
import os
import py_compile
import re
import shutil
import subprocess
import sys
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import CodeType
from typing import IO

import pytest
from this_checkout import ROOT, STUDENT_IMAGE, TAG

IN_THE_IMAGES = (
    *("grader", "reference", "student_template", "tests/suites"),
    *("course.toml", "requirements.lock"),
)
WITHOUT = ("downloads", "packages", "interposer")
"""Stages that see nothing of the course; the copies are built without, to be quick."""
CHOOSING = "FROM packages AS editions"
CANARY = "canary-of-the-layers"
HIDDEN = {
    "tests/suites/mpi_sgd/hidden_ring_allreduce.py": f'"""{CANARY}: a hidden test."""\n',
    "tests/suites/mpi_sgd/hidden_cases/numbers.toml": f'numbers = "{CANARY}"\n',
    "tests/suites/federated/test_hidden_rounds.py": f"# {CANARY}\n",
}
SECRET = {"course-secret": f"{CANARY}: a secret\n"}
CANARY_IMAGES = {target: f"{target}:canary-{TAG}" for target in ("grade", "grade-student")}
LIMIT_S = 600

MIN_LINE_CHARS = 28
MIN_NUM_LINES = 3
MIN_CODE_NUM_BYTES = 80
PYC_MAGIC_END = b"\r\n"
IS_SAME_BYTECODE = sys.version_info[:2] == (3, 11)
"""The image's Python compiles to what ours compiles to."""


@dataclass
class Secrets:
    """What must not be in what students get, by how it would be recognised."""

    hashes: dict[str, str] = field(default_factory=dict)
    """Contents of whole files, SHA-256."""
    lines: dict[bytes, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Lines that nothing else has; three of one file give it away."""
    code: dict[bytes, str] = field(default_factory=dict)
    """Bytecode of functions."""


def secrets_of(folder: Path) -> Secrets:
    """Return what is to be found: of each file what no file that students may have has as well."""
    found = Secrets()
    hidden = [folder / name for name in HIDDEN]
    files = [*_files(folder / "reference"), *hidden]
    public = [folder / name for name in ("grader", "student_template", "tests/suites")]
    known = [file for each in public for file in _files(each) if file not in hidden]
    known_hashes = {_digest(file.read_bytes()) for file in known}
    known_lines = {line for file in known for line in _lines(file.read_bytes())}
    known_code = {code for file in known for code in _bytecode(file)}
    for file in files:
        content, name = file.read_bytes(), file.relative_to(folder).as_posix()
        if content and _digest(content) not in known_hashes:
            found.hashes[_digest(content)] = name
        for line in _lines(content) - known_lines:
            found.lines[line].add(name)
        for code in _bytecode(file) - known_code:
            found.code[code] = name
    return found


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _lines(content: bytes) -> set[bytes]:
    stripped = (line.strip() for line in content.split(b"\n"))
    return {line for line in stripped if len(line) >= MIN_LINE_CHARS}


def _bytecode(file: Path) -> set[bytes]:
    """Return the bytecode of the functions of a Python file."""
    if file.suffix != ".py":
        return set()
    todo: list[CodeType] = [compile(ast.parse(file.read_bytes()), "", "exec")]
    found = set()
    while todo:
        code = todo.pop()
        todo += [each for each in code.co_consts if isinstance(each, CodeType)]
        if len(code.co_code) >= MIN_CODE_NUM_BYTES:
            found.add(code.co_code)
    return found


def leaks(path: str, content: bytes, secrets: Secrets) -> Iterator[str]:
    """Yield how a file of a layer gives away what it must not."""
    if (name := secrets.hashes.get(_digest(content))) is not None:
        yield f"{path} is {name}"
    if CANARY.encode() in content:
        yield f"{path} holds a canary"
    if content[2:4] == PYC_MAGIC_END:
        for code, name in secrets.code.items():
            if code in content:
                yield f"{path} holds bytecode of {name}"
    elif b"\0" not in content[:4096]:
        shared = defaultdict(set)
        for line in _lines(content) & secrets.lines.keys():
            for name in secrets.lines[line]:
                shared[name].add(line)
        for name, lines in shared.items():
            if len(lines) >= MIN_NUM_LINES:
                yield f"{path} holds lines of {name}"


def named_badly(path: str) -> Iterator[str]:
    """Yield when a path of a layer is one of a solution or hidden test, or marks its removal."""
    parts = [part.removeprefix(".wh.") for part in PurePosixPath(path).parts]
    is_of_the_course = "reference" in parts or any("hidden" in part for part in parts)
    if {"grader", "course"} & set(parts[:3]) and is_of_the_course:
        yield f"{path} has a name it must not have"
    if "course-secret" in parts:
        yield f"{path} has the name of the secret"


def search(images: list[str], secrets: Secrets) -> dict[str, list[str]]:
    """Return what is found in each image: in its layers, and in what it says of itself."""
    found_by_layer: dict[str, list[str]] = {}
    said: dict[str, bytes] = {}
    same: dict[str, str] = {}
    with (
        subprocess.Popen(["docker", "save", *images], stdout=subprocess.PIPE) as saving,
        tarfile.open(fileobj=saving.stdout, mode="r|") as archive,
    ):
        for entry in archive:
            if entry.issym():  # a layer that another of these images has as well
                same[entry.name] = os.path.normpath(f"{entry.name}/../{entry.linkname}")
            file = archive.extractfile(entry) if entry.isfile() else None
            if file is None:
                continue
            start = file.read(512)
            if start[257:262] == b"ustar" or not start.strip(b"\0"):
                found_by_layer[entry.name] = list(_search_layer(_Whole(start, file), secrets))
            else:
                said[entry.name] = start + file.read()
    assert saving.returncode == 0
    found = {}
    for image in json.loads(said["manifest.json"]):
        found[image["RepoTags"][0]] = [
            *(leak for layer in image["Layers"] for leak in found_by_layer[same.get(layer, layer)]),
            *_said_leaks(said[image["Config"]]),
        ]
    return found


class _Whole:
    """A stream of which the beginning has been read already."""

    def __init__(self, start: bytes, rest: IO[bytes]) -> None:
        self._start, self._rest = start, rest

    def read(self, size: int) -> bytes:
        if not self._start:
            return self._rest.read(size)
        piece, self._start = self._start[:size], self._start[size:]
        return piece if len(piece) == size else piece + self._rest.read(size - len(piece))


def _search_layer(layer: IO[bytes] | _Whole, secrets: Secrets) -> Iterator[str]:
    with tarfile.open(fileobj=layer, mode="r|") as files:
        for entry in files:
            yield from named_badly(entry.name)
            yield from named_badly(entry.linkname)
            file = files.extractfile(entry) if entry.isreg() else None
            if file is not None:
                yield from leaks(entry.name, file.read(), secrets)


def _said_leaks(config: bytes) -> Iterator[str]:
    """Yield when environment, labels, build arguments or history tell what they must not."""
    text = json.dumps(json.loads(config))
    for word in (CANARY, "reference", "hidden", "GRADER_SECRET"):
        if word in text:
            yield f"the image's configuration says {word}"


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    """Return a copy of what the images are made of, with hidden tests and a secret beside it."""
    folder = tmp_path_factory.mktemp("context")
    shutil.copy(ROOT / ".dockerignore", folder)
    (folder / "Dockerfile").write_text(_without_packages((ROOT / "Dockerfile").read_text()))
    for name in IN_THE_IMAGES:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.so")
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, folder)
    for name, text in {**HIDDEN, **SECRET}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


def _without_packages(dockerfile: str) -> str:
    """Return the same stages, but for those that install packages and what is copied from them."""
    stages = re.split(r"(?m)^(?=FROM )", dockerfile)
    kept = [
        stage for stage in stages if not re.match(rf"FROM .* AS ({'|'.join(WITHOUT)})\n", stage)
    ]
    assert len(kept) == len(stages) - len(WITHOUT)
    # What chooses the files of an edition needs packages; nothing of where it runs is in an image.
    assert kept.count(next(stage for stage in kept if stage.startswith(CHOOSING))) == 1
    kept = [stage.replace(CHOOSING, f"FROM grade-engine:{TAG} AS editions") for stage in kept]
    return re.sub(rf"(?m)^COPY --from=({'|'.join(WITHOUT)}) .*\n", "", "".join(kept))


@pytest.fixture(scope="module")
def secrets(context):
    """Return what must not be found in what students get."""
    return secrets_of(context)


@pytest.fixture(scope="module")
def found(engine, context, secrets):
    """Return what the search finds, by image; those with canaries under their names."""
    built = CANARY_IMAGES.values()
    try:
        for target, image in CANARY_IMAGES.items():
            # The very line of `make image`, so that all but the last stages come out of the cache.
            line = f"$(BUILD) --target {target} --tag {image} {context}"
            done = subprocess.run(
                ["make", f"--eval=canary: ; {line}", "canary"],
                cwd=ROOT,
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
            )
            assert done.returncode == 0, done.stderr[-2000:]
        yield search([STUDENT_IMAGE, *built], secrets)
    finally:
        subprocess.run(["docker", "rmi", *built], capture_output=True, timeout=LIMIT_S)


def test_the_images_of_students_and_ranks_hold_nothing_of_the_course(found):
    """Neither content nor name, in any layer, nor in what the image says of its making."""
    assert found[STUDENT_IMAGE] == []


def test_hidden_tests_and_a_secret_beside_the_project_do_not_get_in(found):
    """A student's edition that is built where hidden tests lie has none of them."""
    assert found[CANARY_IMAGES["grade-student"]] == []


def test_the_search_finds_everything_in_the_courses_edition(found, secrets):
    """Every solution and every hidden test; the secret is in neither."""
    told = "\n".join([*found[CANARY_IMAGES["grade"]], ""])
    for name in HIDDEN:
        assert f"opt/course/{name} is {name}\n" in told
        assert f"opt/course/{name} holds a canary\n" in told
        assert f"opt/course/{name} has a name it must not have\n" in told
    for name in set(secrets.hashes.values()) - set(HIDDEN):
        assert f"opt/course/{name} is {name}\n" in told
    solutions = {name for names in secrets.lines.values() for name in names}
    assert len({name for name in solutions if f"holds lines of {name}" in told}) > 10
    assert "the name of the secret" not in told


def test_the_search_finds_bytecode(context, secrets, tmp_path):
    """No image of ours holds any of a course; one that did would give the solution away."""
    hidden = "tests/suites/mpi_sgd/hidden_ring_allreduce.py"
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as files:
        for number, name in enumerate([hidden, *sorted(set(secrets.code.values()))]):
            compiled = tmp_path / f"{number}.pyc"
            py_compile.compile(str(context / name), str(compiled), doraise=True)
            files.add(compiled, f"opt/course/{compiled.name}")
    layer.seek(0)
    told = "\n".join(_search_layer(layer, secrets))
    assert "opt/course/0.pyc holds a canary" in told
    if IS_SAME_BYTECODE:
        for name in set(secrets.code.values()):
            assert f".pyc holds bytecode of {name}" in told


@pytest.mark.parametrize(
    "path",
    [
        "opt/course/reference/mpi_sgd/my_ring_allreduce.py",
        "opt/course/.wh.reference",
        "opt/course/tests/suites/mpi_sgd/hidden_ring_allreduce.py",
        "opt/course/tests/suites/mpi_sgd/.wh.hidden_cases",
        "opt/course/tests/suites/mpi_sgd/__pycache__/test_hidden_x.cpython-311.pyc",
        "run/course-secret",
    ],
)
def test_names_and_marks_of_removal_are_noticed(path):
    """What an upper layer removes is still in the image for whoever has it."""
    assert list(named_badly(path))
    assert not list(named_badly("opt/course/tests/suites/mpi_sgd/test_ring_allreduce.py"))

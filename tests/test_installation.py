"""What a student types and gets: one pip line, then `grade check`, without C compiler and Docker.

The packages come from an index on this machine; the public ones are not asked.
"""

import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
import venv
import zipfile
from pathlib import Path

import pytest
from engine_wheel import make_wheel

from grader import __version__
from grader.addons.authoring import skeleton
from grader.course.versions import engine_digest, lock_digest

ROOT = Path(__file__).resolve().parents[1]
WHEELHOUSE = ROOT / "wheelhouse"
LIMIT_S = 900
CPU_INDEX = "https://download.pytorch.org/whl/cpu"

pytestmark = pytest.mark.skipif(
    not any(WHEELHOUSE.glob("*.whl")) or sys.version_info[:2] != (3, 11),
    reason="there is no wheelhouse for this Python: `make image` fetches one for Python 3.11",
)


def run(*command, **options):
    return subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=LIMIT_S, **options
    )


def without_settings_of_pip():
    """Return our environment, in which pip knows nothing but what it is told."""
    ours = ("PIP_", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """Return the folder of the engine's wheel."""
    target = tmp_path_factory.mktemp("wheels")
    make_wheel(tmp_path_factory.mktemp("source"), target)
    return target


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Serve a folder with an index of all locked packages; return it and its address."""
    root = tmp_path_factory.mktemp("served")
    for wheel in WHEELHOUSE.glob("*.whl"):
        name = re.sub(r"[-_.]+", "-", wheel.name.split("-")[0]).lower()
        folder = root / "simple" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / wheel.name).symlink_to(wheel)
        links = [
            f'<a href="{each.name.replace("+", "%2B")}">{each.name}</a>'
            for each in folder.glob("*.whl")
        ]
        (folder / "index.html").write_text("<!DOCTYPE html>" + "\n".join(links))
    handler = functools.partial(QuietHandler, directory=root)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield root, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


class Student:
    """A virtual environment of a student, on a machine with no other program on the PATH."""

    def __init__(self, folder):
        self.bin, self.home = folder / "venv" / "bin", folder / "home"
        venv.create(folder / "venv", with_pip=True)
        self.home.mkdir()

    def pip(self, *arguments, index):
        command = (self.bin / "python", "-m", "pip", *arguments)
        options = {"env": {**without_settings_of_pip(), "PIP_INDEX_URL": index}}
        return run(*command, **options)

    def grade(self, *arguments, cwd=None):
        environment = {"PATH": str(self.bin), "HOME": str(self.home)}
        assert not any(shutil.which(cc, path=environment["PATH"]) for cc in ("cc", "gcc", "clang"))
        return run(self.bin / "grade", *arguments, env=environment, cwd=cwd or self.home)


def build(course, wheels, target, url):
    options = ("--installation", target, "--wheels", wheels, "--url", url)
    command = (sys.executable, "-m", "grader", *course, "build", *options)
    return run(*command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    root = tmp_path_factory.mktemp("outside") / "sums-101"
    skeleton.write(root, "sums")
    (root / "tests/suites/sums/hidden_sum.py").write_text("def test_kept_to_ourselves(): pass\n")
    return root


@pytest.fixture(scope="module")
def student(tmp_path_factory, wheels, served, course):
    """Return a student who has typed the line of the course's page."""
    root, address = served
    done = build(("--course", course), wheels, root / "course", f"{address}/course")
    assert done.returncode == 0, done.stderr
    line = re.search(r"pip install -r \S+", done.stderr).group()
    student = Student(tmp_path_factory.mktemp("student"))
    done = student.pip(*line.split()[1:], index=f"{address}/simple/")
    assert done.returncode == 0, done.stderr
    return student


def test_the_wheel_says_what_it_needs(wheels):
    """By the linter of such wheels: no newer C library, and no other library, than its tag says."""
    (wheel,) = wheels.glob("*.whl")
    machine = sysconfig.get_platform().removeprefix("linux-")
    name = rf"distributed_grader-{re.escape(__version__)}-py3-none-manylinux_2_\d+_{machine}\.whl"
    assert re.fullmatch(name, wheel.name)
    command = (sys.executable, "-m", "auditwheel", "show", wheel)
    tag = wheel.stem.rpartition("-")[2]
    assert f'the following platform tag: "{tag}"' in " ".join(run(*command).stdout.split())


def test_the_wheel_holds_the_engine_and_nothing_else(wheels):
    """Neither tests nor solutions, but the skeleton of a new assignment whole."""
    (wheel,) = wheels.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {
        "grader",
        f"distributed_grader-{__version__}.dist-info",
    }
    interposer = re.compile(r"observe/interposer/interposer-[0-9a-f]+\.so$")
    assert len([name for name in names if interposer.search(name)]) == 1


@pytest.mark.slow
def test_a_student_installs_what_the_course_grades_by(student):
    """The same engine and the same lock, without torch, and the students' edition of the course."""
    told = student.grade("--version").stdout
    assert f"engine {engine_digest()}" in told
    assert f"lock {lock_digest()}" in told
    assert "torch not installed" in told
    assert student.grade("list").stdout.startswith("sums: ")
    (installed,) = (student.bin.parent / "lib").glob("python*/site-packages/grader_course_*")
    names = [path.relative_to(installed).as_posix() for path in installed.rglob("*.*")]
    assert "student_template/sums/my_sum.py" in names
    assert not [name for name in names if "hidden" in name or name.startswith("reference")]


def test_a_student_without_a_c_compiler_grades(student, course):
    """A template, a wrong submission and a right one, with nothing to set and nothing compiled."""
    assert student.grade("template", "sums", "sums").returncode == 0
    given = student.grade("check", ".", cwd=student.home / "sums")
    assert "not written" in given.stdout
    assert "0 of 10 points in" in given.stdout
    wrong = student.grade(
        "check", course / "tests/submissions/wrong_answer/sums/only_the_neighbour"
    )
    assert wrong.returncode == 1
    assert "wrong answer" in wrong.stdout
    right = student.grade("check", course / "reference/sums")
    assert right.returncode == 0, right.stdout + right.stderr
    kept = {path.parts[-3] for path in (student.home / ".cache").rglob("*") if path.is_file()}
    assert kept == {"checks"}, "what the last checks showed, and nothing that was compiled"


def test_what_needs_torch_says_so(student):
    """In one sentence, before anything is started."""
    done = student.grade("--course", ROOT, "check", ROOT / "reference/federated")
    assert done.returncode == 3
    assert done.stderr.startswith("grade: this assignment needs torch and matplotlib, which are")
    assert done.stderr.count("\n") == 1


def test_hidden_lines_in_what_students_get_stop_the_build(tmp_path, wheels, course):
    """As they stop that of the images; nothing is written then."""
    leaking = shutil.copytree(course, tmp_path / "leaking")
    hidden = 'def test_many():\n    """Five ranks, which no visible test has, get the sum."""\n'
    (leaking / "tests/suites/sums/hidden_sum.py").write_text(hidden)
    with (leaking / "student_template/sums/HANDOUT.md").open("a") as handout:
        handout.write('    """Five ranks, which no visible test has, get the sum."""\n')
    done = build(("--course", leaking), wheels, tmp_path / "out", "https://example.org")
    assert done.returncode == 3
    assert "students get this file, but it has a line from hidden_sum.py" in done.stderr
    assert not (tmp_path / "out").exists()


def test_another_wheel_under_the_same_name_is_refused(tmp_path, served, wheels, course):
    """Whoever changes what lies on the page does not change what students install."""
    root, address = served
    done = build(("--course", course), wheels, root / "changed", f"{address}/changed")
    assert done.returncode == 0, done.stderr
    (changed,) = (root / "changed").glob("sums_101_course-*.whl")
    changed.write_bytes(changed.read_bytes() + b"\0")
    student = Student(tmp_path)
    line = ("download", "--no-deps", "-d", tmp_path, "-r", f"{address}/changed/requirements.txt")
    done = student.pip(*line, index=f"{address}/simple/")
    assert done.returncode != 0
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in done.stderr


@pytest.mark.slow
def test_a_student_of_the_bundled_course_gets_torch_from_the_index_for_cpus(
    tmp_path, served, wheels
):
    """The requirements name that index; here one on this machine stands in for it."""
    root, address = served
    done = build((), wheels, root / "bundled", f"{address}/bundled")
    assert done.returncode == 0, done.stderr
    file = root / "bundled" / "requirements.txt"
    text = file.read_text()
    assert f"--extra-index-url {CPU_INDEX}\n" in text
    file.write_text(text.replace(CPU_INDEX, f"{address}/simple/"))
    student = Student(tmp_path)
    done = student.pip(
        "install", "-r", f"{address}/bundled/requirements.txt", index=f"{address}/simple/"
    )
    assert done.returncode == 0, done.stderr
    assert "torch 2.13.0+cpu" in student.grade("--version").stdout
    done = student.grade("check", ROOT / "reference/psgd_hogwild")
    assert "25 of 25 points in" in done.stdout, done.stdout + done.stderr

"""Each platform grades a right, a wrong and a hanging hand-in, and its scripts copy what is odd.

No platform is asked. Gradescope's setup.sh runs in an empty Debian image and takes its wheels from
the wheelhouse. The others take the images that `make image` builds.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import docker
import platform_layouts
import pytest
from docker.errors import DockerException
from docker.models.containers import Container
from engine_wheel import make_wheel
from jsonschema import Draft202012Validator
from platform_layouts import CI, put
from this_checkout import IMAGE, ROOT

WHEELHOUSE = ROOT / "wheelhouse"
EMPTY_IMAGE = "debian:bookworm-slim"
LIMIT_S = 900
RIGHT = ROOT / "reference" / "mpi_sgd"
WRONG = ROOT / "tests/submissions/wrong_answer/mpi_sgd/ring_tail_dropped"
HANGING = ROOT / "tests/submissions/deadlock/mpi_sgd/ring_receives_from_the_wrong_side"
RING = "my_ring_allreduce.py"


@dataclass(frozen=True)
class Platform:
    """Where a platform puts things; paths below its folder."""

    folder: str
    script: Path
    script_at: str
    handed_in: str
    result: str
    ring_is_right: Callable[[str], bool]
    """Says by the text of its result whether the ring has all of its points."""

    def lay_out(self, root: Path, submission: Path) -> Path:
        """Write its folder, open to everybody as a mount may be; return it."""
        root.mkdir(exist_ok=True)
        for each in (self.script_at, self.result):
            (root / each).parent.mkdir(exist_ok=True)
        shutil.copy(self.script, root / self.script_at)
        shutil.copytree(submission, root / self.handed_in, dirs_exist_ok=True)
        for path in [root, *root.rglob("*")]:
            path.chmod(0o755 if path.is_dir() or path.name == Path(self.script_at).name else 0o644)
        return root


def right_on_gradescope(text: str) -> bool:
    tests = json.loads(text)["tests"]
    return sum(each["score"] for each in tests if each["name"].startswith("ring_allreduce: ")) == 25


def right_on_artemis(text: str) -> bool:
    cases = list(ElementTree.fromstring(text).iter("testcase"))
    ring = [each for each in cases if each.get("name").startswith("ring_allreduce.")]
    assert ring
    return all(each.find("failure") is None for each in ring)


def right_on_prairielearn(text: str) -> bool:
    found = json.loads(text)
    assert found["gradable"]
    return found["score"] == 1


GRADESCOPE = Platform(
    "/autograder",
    CI / "gradescope" / "run_autograder",
    "run_autograder",
    "submission",
    "results/results.json",
    right_on_gradescope,
)
ARTEMIS = Platform(
    "/var/tmp/testing-dir",
    CI / "artemis" / "build.sh",
    "build.sh",
    "assignment",
    "test-results/grade.xml",
    right_on_artemis,
)
PRAIRIELEARN = Platform(
    "/grade",
    CI / "prairielearn" / "tests" / "grade.sh",
    "tests/grade.sh",
    "student",
    "results/results.json",
    right_on_prairielearn,
)
each_platform = pytest.mark.parametrize(
    "platform",
    [pytest.param(GRADESCOPE, marks=pytest.mark.slow), ARTEMIS, PRAIRIELEARN],
    ids=["gradescope", "artemis", "prairielearn"],
)
"""Gradescope's machine is set up first, which takes two minutes."""


@pytest.fixture(scope="module")
def api():
    try:
        client = docker.from_env(timeout=LIMIT_S)
        client.ping()
    except DockerException as error:
        _unavailable(f"no Docker: {error}")
    return client


def _unavailable(reason: str) -> None:
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def course_image(api):
    try:
        return api.images.get(IMAGE).id
    except DockerException as error:
        _unavailable(f"`make image` has not been run: {error}")


@pytest.fixture(scope="module")
def autograder(api, tmp_path_factory):
    """Return the image that Gradescope would build: setup.sh has run once in it."""
    if not any(WHEELHOUSE.glob("*.whl")) or sys.version_info[:2] != (3, 11):
        pytest.skip("there is no wheelhouse for this Python: `make image` fetches one")
    source = tmp_path_factory.mktemp("uploaded")
    source.chmod(0o755)
    make_wheel(tmp_path_factory.mktemp("sources"), source)
    made = tmp_path_factory.mktemp("made")
    build = (sys.executable, "-m", "grader", "build", "--files", made / "editions")
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=LIMIT_S)
    shutil.copytree(made / "editions" / "course", source / "course")
    (source / "course-secret").write_text("a secret of the course's\n" * 4)
    for file in (ROOT / "requirements.lock", *(CI / "gradescope").iterdir()):
        shutil.copy(file, source)
    building = api.containers.create(
        EMPTY_IMAGE,
        ["bash", "/autograder/source/setup.sh"],
        environment={"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/wheelhouse"},
        volumes={str(WHEELHOUSE): {"bind": "/wheelhouse", "mode": "ro"}},
        network_mode="host",
    )
    try:
        put(building, source, "/autograder/source")
        put(building, source / "run_autograder", "/autograder/run_autograder")
        building.start()
        ended = building.wait(timeout=LIMIT_S)["StatusCode"]
        assert ended == 0, building.logs()[-3000:].decode()
        image = building.commit()
    finally:
        building.remove(force=True, v=True)
    yield image.id
    api.images.remove(image.id, force=True)


@pytest.fixture
def on(request, api):
    """Return a function that starts a container of a platform, with its folder in it.

    mounted: what of the folder is a mount, "." for all of it, and how: "ro" or "rw". The rest is
    copied into the container. beside: a folder that is mounted as /submission.
    """

    @contextmanager
    def start(
        platform: Platform, root: Path, mounted: dict[str, str], beside=None, **options
    ) -> Iterator["Machine"]:
        image = "autograder" if platform is GRADESCOPE else "course_image"
        volumes = [f"{root / each}:{platform.folder}/{each}:{mounted[each]}" for each in mounted]
        container = api.containers.create(
            request.getfixturevalue(image),
            ["infinity"],
            entrypoint="sleep",
            volumes=volumes + ([f"{beside}:/submission"] if beside else []),
            network_mode="none",
            init=True,
            **options,
        )
        try:
            if "." not in mounted:
                put(container, root, platform.folder, without=mounted)
            container.start()
            try:
                yield Machine(platform, container)
            finally:
                # What is mounted is to be removed by whoever runs the tests.
                give_back = "chmod -R u+rwX .; chown -R -h --reference=. ."
                container.exec_run(["sh", "-c", give_back], workdir=platform.folder)
        finally:
            container.remove(force=True, v=True)

    return start


@dataclass(frozen=True)
class Machine:
    """A container of a platform."""

    platform: Platform
    container: Container

    def grade(self) -> tuple[int, str]:
        """Run the platform's script; return its exit code and what it printed."""
        script = f"{self.platform.folder}/{self.platform.script_at}"
        first = ("bash",) if self.platform is ARTEMIS else ()
        done = self.container.exec_run([*first, script], workdir=self.platform.folder)
        return done.exit_code, done.output.decode()

    def shell(self, commands: str) -> str:
        """Run commands in its folder of the platform; return what they print.

        On a busy machine the engine may lose what a short program prints: it is read again.
        """
        kept = f"exec > /tmp/printed 2>&1\n{commands}"
        done = self.container.exec_run(
            ["bash", "-euc", kept], workdir=self.platform.folder, user="root"
        )
        for _ in range(10):
            read = self.container.exec_run(["sh", "-c", "cat /tmp/printed; echo END"], user="root")
            printed, end, _ = read.output.decode().rpartition("END\n")
            if end:
                break
        assert end and done.exit_code == 0, printed
        return printed

    def result(self) -> str:
        """Return the text of its result; empty without one."""
        return self.shell(f"cat {self.platform.result} 2>/dev/null || true")

    def ring_is_right(self) -> bool:
        return self.platform.ring_is_right(self.result())


@pytest.fixture
def create(api):
    """Return a function that makes a container, which is gone after the test."""
    made = []

    def make(*arguments, **options) -> Container:
        made.append(api.containers.create(*arguments, **options))
        return made[-1]

    yield make
    for container in made:
        container.remove(force=True, v=True)


HAND_INS = {
    "right": (RIGHT, ""),
    "wrong": (WRONG, "The last of 7 elements was left out"),
    "hanging": (HANGING, "Every rank waits for a message|deadlock: .* my_ring_allreduce.py:15"),
}
COMMAND = re.compile(r"::(error|warning|notice) (\w+=[^,:]+)(,\w+=[^,:]+)*::.+")


def holds_to(schema: Path) -> Callable[[Any], None]:
    return Draft202012Validator(json.loads(schema.read_text())).validate


def is_read_by_artemis(root: ElementTree.Element) -> None:
    """Its TestResultXmlParser: what is neither skipped nor has a failure or an error has passed."""
    assert root.tag in ("testsuites", "testsuite")
    ring = [each for each in root.iter("testcase") if each.get("name").startswith("ring_")]
    assert len(ring) > 5
    for failure in (each for case in ring for each in case if each.tag in ("failure", "error")):
        assert failure.get("message") or failure.text


def is_obeyed_by_github(commands: list[str]) -> None:
    for command in commands:
        assert COMMAND.fullmatch(command), command


SCHEMAS = ROOT / "tests" / "unit" / "report" / "platforms"
PLATFORMS = {
    platform_layouts.gradescope: holds_to(SCHEMAS / "gradescope.schema.json"),
    platform_layouts.github: is_obeyed_by_github,
    platform_layouts.classroom50: holds_to(SCHEMAS / "classroom50.schema.json"),
    platform_layouts.gitlab: holds_to(SCHEMAS / "gitlab.schema.json"),
    platform_layouts.prairielearn: holds_to(SCHEMAS / "prairielearn.schema.json"),
    platform_layouts.artemis: is_read_by_artemis,
    platform_layouts.docker_run: holds_to(ROOT / "grader" / "report" / "report.schema.json"),
}


@cache
def points_of(submission: Path) -> float:
    """Return the points that a check gives the ring: a price that moves does so everywhere."""
    check = ("check", submission, "--part", "ring_allreduce", "--json", "-")
    done = subprocess.run(
        (sys.executable, "-m", "grader", *check), cwd=ROOT, capture_output=True, timeout=LIMIT_S
    )
    return json.loads(done.stdout)["score"]


@pytest.mark.slow
@pytest.mark.parametrize("hand_in", HAND_INS)
@pytest.mark.parametrize("platform", PLATFORMS, ids=lambda each: each.__name__)
def test_a_platform_grades_as_it_is_laid_out(request, create, tmp_path, platform, hand_in):
    """Its result is as it is described, has the points of a check, and tells why some were lost."""
    submission, told = HAND_INS[hand_in]
    is_gradescope = platform is platform_layouts.gradescope
    image = request.getfixturevalue("autograder" if is_gradescope else "course_image")
    work = tmp_path / "work"
    work.mkdir()
    ended = platform(create, image, ring_alone(tmp_path, submission), work)
    PLATFORMS[platform](ended.result)
    fails_for_lost_points = platform is platform_layouts.docker_run
    assert ended.code == (1 if fails_for_lost_points else 0), ended.printed
    if platform is platform_layouts.artemis:
        text = ElementTree.tostring(ended.result, encoding="unicode")
        assert right_on_artemis(text) == (hand_in == "right"), ended.printed
    else:
        assert ended.points == points_of(submission), ended.printed
        text = json.dumps(ended.result)
    assert re.search(told, text + "".join(ended.others.values())), text


ODD = """
ln -s /etc/shadow answers.py
ln -s / everything
ln -s nowhere.py dangling.py
ln -s . again
mkfifo pipe.py
mkdir -p locked && cp my_ring_allreduce.py locked/helper.py
echo nothing >'-rf
*'
chmod 0000 my_ring_allreduce.py
chmod 0444 locked/helper.py
chmod 0555 locked
chown -R -h 1234:1234 .
"""
SEEN = "stat -c '%n %a %U' / /etc /etc/shadow /etc/passwd"


@each_platform
def test_whatever_is_handed_in_is_copied_anew_for_each_grading(on, tmp_path, platform):
    """Links, a pipe, files that nobody may read or write; another hand-in leaves nothing of it."""
    root = platform.lay_out(tmp_path / "mounted", ring_alone(tmp_path, RIGHT))
    with on(platform, root, {".": "rw"}) as machine:
        machine.shell(f"cd {platform.handed_in}\n{ODD}")
        before = machine.shell(SEEN)
        ending, printed = machine.grade()
        assert ending == 0, printed
        assert machine.ring_is_right(), printed
        assert machine.shell(SEEN) == before
        assert machine.shell("stat -c '%a %U' /submission") == "700 daemon\n"
        links = machine.shell("cd /submission; find . -type l -printf '%f to %l\\n'").splitlines()
        assert set(links) == {"answers.py to /etc/shadow", "everything to /", "again to ."} | {
            "dangling.py to nowhere.py"
        }
        put(machine.container, WRONG / RING, f"/other/{RING}")
        machine.shell(f"rm -r {platform.handed_in}/*; cp /other/{RING} {platform.handed_in}")
        ending, printed = machine.grade()
        assert ending == 0, printed
        assert not machine.ring_is_right()
        assert machine.shell("ls -A /submission") == f"{RING}\n"


def ring_alone(folder: Path, submission: Path) -> Path:
    """Return a folder with the ring of a submission and nothing else."""
    (folder / "ring").mkdir()
    shutil.copy(submission / RING, folder / "ring")
    return folder / "ring"


@each_platform
def test_what_cannot_be_copied_is_no_zero(on, tmp_path, platform):
    """Exit code 3 and no result, nor that of an earlier grading."""
    root = platform.lay_out(tmp_path / "mounted", ring_alone(tmp_path, RIGHT))
    (root / platform.result).write_text("of an earlier grading")
    with on(platform, root, {}, cap_drop=["DAC_OVERRIDE", "DAC_READ_SEARCH"]) as machine:
        machine.shell(f"chmod 0000 {platform.handed_in}/{RING}")
        ending, printed = machine.grade()
        assert ending == 3, printed
        assert "could not be copied, so it is not graded" in printed
        assert machine.result() == ""


@pytest.mark.slow
@each_platform
def test_a_mount_where_the_copy_would_be_keeps_its_files(on, tmp_path, platform):
    """What lies there is somebody's, so that nothing is removed and nothing graded."""
    root = platform.lay_out(tmp_path / "mounted", ring_alone(tmp_path, RIGHT))
    with on(platform, root, {}, beside=tmp_path / "ring") as machine:
        ending, printed = machine.grade()
        assert ending == 3, printed
        assert machine.result() == ""
    assert (tmp_path / "ring" / RING).read_bytes() == (RIGHT / RING).read_bytes()

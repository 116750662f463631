"""The scripts of Gradescope, Artemis and PrairieLearn, as each platform lays out their folders.

No platform is asked. Gradescope's setup.sh runs in an empty Debian image and takes its wheels from
the wheelhouse. Artemis and PrairieLearn take the image that `make image` builds.
"""

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import docker
import pytest
from docker.errors import DockerException
from docker.models.containers import Container
from engine_wheel import make_wheel
from this_checkout import IMAGE, ROOT

CI = ROOT / "ci"
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
    [GRADESCOPE, ARTEMIS, PRAIRIELEARN],
    ids=["gradescope", "artemis", "prairielearn"],
)


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


def put(container: Container, path: Path, at: str, without: Collection[str] = ()) -> None:
    """Copy a file or folder into a container, as root's.

    without: what is left out of the folder.
    """
    name = at.lstrip("/")
    left_out = {f"{name}/{each}" for each in without}

    def as_roots(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        member.uid = member.gid = 0
        return None if member.name in left_out else member

    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        archive.add(path, name, filter=as_roots)
    assert container.put_archive("/", data.getvalue())


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("submission", "score", "told", "mounted"),
    [
        (RIGHT, 100, "all checks passed", {"submission": "ro", "results": "rw"}),
        (WRONG, 20, "WRONG_ANSWER: 2 ranks, length 7", {".": "rw"}),
        (HANGING, 5, "deadlock: rank 0 waits in Wait at my_ring_allreduce.py:15", {}),
    ],
    ids=["right", "wrong", "hanging"],
)
def test_gradescope_grades_by_what_setup_has_installed(
    on, tmp_path, submission, score, told, mounted
):
    """A right, a wrong and a hanging hand-in, with all, some or none of the folders mounts."""
    root = GRADESCOPE.lay_out(tmp_path / "autograder", submission)
    with on(GRADESCOPE, root, mounted) as machine:
        ending, printed = machine.grade()
        assert ending == 0, printed
        found = json.loads(machine.result())
    assert found["score"] == score == sum(each["score"] for each in found["tests"])
    texts = [found["output"], *(each["output"] for each in found["tests"])]
    assert any(told in each for each in texts), texts


@pytest.mark.parametrize(
    ("submission", "is_right"), [(RIGHT, True), (WRONG, False)], ids=["right", "wrong"]
)
def test_artemis_grades_in_a_folder_that_is_a_mount(on, tmp_path, submission, is_right):
    """Its build script, with what was handed in as a mount of its own that is read-only."""
    root = ARTEMIS.lay_out(tmp_path / "testing-dir", submission)
    with on(ARTEMIS, root, {".": "rw", "assignment": "ro"}) as machine:
        ending, printed = machine.grade()
        assert ending == 0, printed
        assert machine.ring_is_right() == is_right
        assert ("WRONG_ANSWER" in machine.result()) != is_right


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

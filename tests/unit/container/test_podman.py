"""podman, against a program that only writes down what it is asked."""

import json
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from grader.container import podman_engine
from grader.container.engine import ContainerLimits, ContainerPlan, client
from grader.container.hardening import hardening
from grader.container.podman_engine import PodmanEngine, flags
from grader.container.sealed_grading import grade_in_container
from grader.courses import find_courses
from grader.errors import GraderError, UsageError

HOST = {
    "security": {"rootless": False},
    "cgroupVersion": "v2",
    "cgroupControllers": ["cpu", "memory", "pids"],
}
ANSWERS = """
import sys
sys.stderr.write("grading ring_allreduce\\n")
sys.stderr.flush()
print("{}")
sys.exit(1)
"""


class Podman:
    """The fake, and what it was asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.says("info", json.dumps({"host": HOST}))
        self.says("start", ANSWERS)
        self.says("image-inspect", "one source")

    def says(self, command: str, text: str) -> None:
        (self.folder / command).write_text(text)

    def asked(self, *command: str) -> list[list[str]]:
        lines = (self.folder / "asked").read_text().splitlines()
        found = [json.loads(line) for line in lines]
        return [each for each in found if each[: len(command)] == list(command)]


@pytest.fixture
def podman(tmp_path, monkeypatch):
    binaries, folder = tmp_path / "bin", tmp_path / "podman"
    binaries.mkdir()
    folder.mkdir()
    program = Path(__file__).parent / "fake_podman.py"
    script = binaries / "podman"
    command = shlex.join([sys.executable, "-S", str(program)])
    script.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(binaries), prepend=":")
    monkeypatch.setenv("FAKE_PODMAN", str(folder))
    return Podman(folder)


@pytest.fixture
def submission(tmp_path: Path) -> Path:
    folder = tmp_path / "anna"
    folder.mkdir()
    (folder / "my_ring_allreduce.py").write_text("# a ring\n")
    return folder


def grade(submission: Path, **more) -> tuple[bytes, list[str]]:
    lines: list[str] = []
    report = grade_in_container(
        submission,
        courses=find_courses(),
        image="grade",
        engine="podman",
        on_progress=lines.append,
        **more,
    )
    return report, lines


def test_report_and_progress_come_out(submission, podman):
    """The exit code is podman's own; the container is removed by its id."""
    report, lines = grade(submission)
    assert (report, lines) == (b"{}", ["grading ring_allreduce"])
    (created,) = podman.asked("create")
    assert {"--interactive", "--pull=never", f"--label=grader.client={client()}"} <= set(created)
    assert created[-5:] == ["grade", "check", "--from-stdin", "--json", "-"]
    assert podman.asked("start") == [["start", "--attach", "--interactive", "c1"]]
    assert podman.asked("rm")[-1][-1] == "c1"


def test_the_submission_goes_in_by_standard_input(submission, podman):
    """More than a pipe holds, to a container that talks while it reads."""
    (submission / "report.pdf").write_bytes(bytes(1 << 20))
    podman.says(
        "start",
        "import sys\nsys.stderr.write('x' * (1 << 18) + '\\n')\n"
        "got = len(sys.stdin.buffer.read(1 << 20))\nprint(got)",
    )
    assert grade(submission)[0] == str(1 << 20).encode()


LIMITS = ContainerLimits(memory_num_bytes=3 << 30, num_processes=99)


def test_podman_gets_what_docker_gets():
    """Every line of `hardening`, one for one, but for the two that podman does not know."""
    wanted = hardening(LIMITS)
    assert sorted(flags(LIMITS)) == sorted(
        [
            "--rm=true",
            "--read-only=true",
            f"--network={wanted['network_mode']}",
            f"--ipc={wanted['ipc_mode']}",
            f"--pids-limit={wanted['pids_limit']}",
            *(f"--sysctl={name}={value}" for name, value in wanted["sysctls"].items()),
            f"--memory={wanted['mem_limit']}",
            f"--memory-swap={wanted['memswap_limit']}",
            f"--shm-size={wanted['shm_size']}",
            *(f"--cap-drop={each}" for each in wanted["cap_drop"]),
            *(f"--cap-add={each}" for each in wanted["cap_add"]),
            *(f"--security-opt={each}" for each in wanted["security_opt"]),
            *(
                f"--ulimit={each['Name']}={each['Soft']}:{each['Hard']}"
                for each in wanted["ulimits"]
            ),
            *(
                f"--tmpfs={path}:{text.replace(',nr_inodes=4096', '')}"
                for path, text in wanted["tmpfs"].items()
            ),
            f"--log-driver={wanted['log_config']['Type']}",
            # podman would give more by itself than Docker does.
            "--read-only-tmpfs=false",
            "--http-proxy=false",
            "--systemd=false",
        ]
    )
    assert wanted["init"] is True
    assert "nr_inodes=4096" in wanted["tmpfs"]["/tmp"]
    assert set(wanted) - set(podman_engine._OPTIONS) == {"auto_remove", "read_only", "init"}


def test_a_line_of_hardening_that_podman_has_no_word_for_is_an_error(monkeypatch):
    """It is not dropped in silence."""
    monkeypatch.setattr(podman_engine, "hardening", lambda limits: {"a_new_flag": True})
    with pytest.raises(KeyError, match="a_new_flag"):
        flags(LIMITS)


def test_two_containers_share_a_volume_in_memory(submission, podman):
    """It has this run's name on it, and is removed after both containers."""
    grade(submission, ranks_image="grade-ranks")
    (made,) = podman.asked("volume", "create")
    assert {"--opt=type=tmpfs", "--opt=device=tmpfs", f"--label=grader.client={client()}"} <= set(
        made
    )
    volume = made[-1]
    ranks, judge = podman.asked("create")
    mount = f"{volume}:/ranks:nosuid,nodev,noexec"
    assert ranks[-3:] == ["--volume", mount, "grade-ranks"]
    assert mount in judge and "--env=GRADER_RANKS=/ranks" in judge
    removed = [each[-1] for each in podman.asked("rm")]
    assert removed == ["c2", "c1"]
    assert podman.asked("volume", "rm") == [["volume", "rm", "--force", volume]]


def test_data_is_mounted_read_only(podman, tmp_path):
    """At the same place as under Docker."""
    plan = ContainerPlan("grade", [], LIMITS, data=tmp_path)
    PodmanEngine.connect().create(plan)
    (created,) = podman.asked("create")
    assert f'type=bind,"source={tmp_path}",target=/data,readonly' in created


def test_what_killed_clients_left_is_removed(podman):
    """Unstarted containers and volumes, by the name of a client that is there no more."""
    machine = client().rpartition(":")[0]
    gone, here = {"grader.client": f"{machine}:99999999"}, {"grader.client": client()}
    podman.says("ps", json.dumps([{"Id": "old", "Labels": gone}, {"Id": "new", "Labels": here}]))
    volumes = [{"Name": "v-old", "Labels": gone}, {"Name": "v-new", "Labels": here}]
    podman.says("volume-ls", json.dumps(volumes))
    PodmanEngine.connect()
    assert [each[-1] for each in podman.asked("rm")] == ["old"]
    assert [each[-1] for each in podman.asked("volume", "rm")] == ["v-old"]


@pytest.mark.parametrize(
    ("command", "error", "sentence"),
    [
        ("create", "grade: image not known", r"no image 'grade' .* `docker save grade \| podman"),
        ("create", "short-name\nresolution", "podman refused: short-name resolution"),
        ("info", "cannot re-exec process", "podman refused: cannot re-exec process"),
        ("info", 'exec: "newuidmap": executable file not found', "`sudo apt install uidmap`"),
    ],
)
def test_what_podman_refuses_is_one_sentence(submission, podman, command, error, sentence):
    """With the next step where there is one."""
    podman.says(f"{command}.error", error)
    with pytest.raises(GraderError, match=sentence) as raised:
        grade(submission)
    assert "\n" not in str(raised.value)


def test_a_container_that_podman_cannot_start_is_podmans_failure(submission, podman):
    """Its own words are passed on; exit codes such as 126 are not taken for the image's."""
    podman.says("start", "import sys; print('Error: runc: no', file=sys.stderr); sys.exit(126)")
    with pytest.raises(GraderError, match="podman refused: runc: no"):
        grade(submission)


@pytest.mark.parametrize(
    "changes",
    [
        {"security": {"rootless": True}, "cgroupVersion": "v1"},
        {"cgroupControllers": ["cpu", "pids"]},
        {"cgroupControllers": None},
    ],
)
def test_a_podman_that_cannot_limit_memory_does_not_grade(submission, podman, changes):
    """As a user other than root it only warns, and grades without limits."""
    podman.says("info", json.dumps({"host": {**HOST, **changes}}))
    with pytest.raises(GraderError, match=r"cannot limit memory and processes .* run it as root"):
        grade(submission)
    assert not podman.asked("create")


def test_no_podman(submission, monkeypatch):
    """The next step, and the other engine."""
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(GraderError, match=r"podman is not installed: install it .*--engine docker"):
        grade(submission)


def test_an_unknown_engine_is_bad_usage(submission):
    """With the names of those that there are."""
    with pytest.raises(UsageError, match="no container engine 'lxc'; name docker or podman"):
        grade_in_container(
            submission, courses=find_courses(), image="grade", engine="lxc", on_progress=print
        )


def test_a_silent_container_is_given_up(submission, podman):
    """After the limit, not after its end."""
    podman.says("start", "import sys; sys.stdin.read(); sys.stdin.read()")
    plan = ContainerPlan("grade", [], ContainerLimits())
    engine = PodmanEngine.connect()
    started = engine.start(engine.create(plan), plan.limits)
    with pytest.raises(TimeoutError):
        started.recv(1, 0.05)
    started.close()


def test_output_keeps_its_stream(podman):
    """In the format that Docker sends, in pieces as small as the reader wants them."""
    podman.says("start", "import sys; sys.stdout.write('out'); sys.exit(7)")
    engine = PodmanEngine.connect()
    started = engine.start("c1", LIMITS)
    received = b"".join(iter(lambda: started.recv(2, 60), b""))
    assert received == b"\x01\0\0\0\0\0\0\x03out"
    assert started.exit_code() == 7
    started.close()

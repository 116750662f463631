"""Sealed grading, against a Docker daemon that is only an API: what goes in, what may come out."""

import json
import socket
import threading
from pathlib import Path

import docker
import docker.errors
import pytest
import requests.exceptions
from docker_daemon import STDERR, STDOUT, FakeDaemon, Streams
from plain_grading import grade_plainly

from grader.intake.stream import read_secret, read_submission
from grader.model.errors import GraderError, UsageError
from grader.recording import journal
from grader.sealed.container import kernel_refusals
from grader.sealed.container import stream_demux as container_output
from grader.sealed.container.docker_engine import DockerEngine
from grader.sealed.container.plan import ContainerLimits, client

RING = "my_ring_allreduce.py"


@pytest.fixture
def submission(tmp_path: Path) -> Path:
    folder = tmp_path / "anna"
    folder.mkdir(mode=0o700)
    (folder / RING).write_text("# a ring\n")
    (folder / RING).chmod(0o600)
    return folder


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    daemons = []

    def start(process) -> FakeDaemon:
        daemons.append(FakeDaemon(tmp_path, process))
        monkeypatch.setenv("DOCKER_HOST", daemons[-1].url)
        return daemons[-1]

    yield start
    for each in daemons:
        each.close()


def grade(submission: Path, *options: str, **more) -> tuple[bytes, list[str]]:
    lines: list[str] = []
    report = grade_plainly(submission, options=options, on_progress=lines.append, **more)
    return report, lines


def files_in(streams: Streams) -> dict[str, bytes]:
    return dict(read_submission(streams.stdin, "it").files)


def says(exit_code: int, *said: tuple[int, bytes]):
    """Return a process that reads its submission, says something and ends."""

    def process(streams: Streams) -> int:
        read_secret(streams.stdin)
        read_submission(streams.stdin, "it")
        for stream, data in said:
            streams.write(stream, data)
        return exit_code

    return process


def test_the_files_go_in_and_the_report_comes_out(submission, daemon):
    """A folder only its owner may read arrives whole; progress is passed on line by line."""
    arrived = []
    secrets = []

    def process(streams: Streams) -> int:
        secrets.append(read_secret(streams.stdin))
        arrived.extend(files_in(streams).items())
        streams.write(STDERR, b"grading ring_all")
        streams.write(STDERR, b"reduce\ngrading sync_ring\n")
        streams.write(STDOUT, b'{"score": ')
        streams.write(STDOUT, b"3}\n")
        return 1

    running = daemon(process)
    report, lines = grade(submission, "--part", "ring_allreduce", secret=b"of the course")
    assert report == b'{"score": 3}'
    assert secrets == [b"of the course"]
    assert lines == ["grading ring_allreduce", "grading sync_ring"]
    assert arrived == [(RING, b"# a ring\n")]
    assert running.created["Cmd"] == [
        *("check", "--from-stdin", "--json", "-"),
        *("--part", "ring_allreduce"),
    ]


def test_a_large_submission_goes_in_while_the_container_talks(submission, daemon):
    """Neither side waits for the other: more than any buffer holds, in both directions."""
    (submission / "report.pdf").write_bytes(bytes(3 << 20))

    def process(streams: Streams) -> int:
        for _ in range(64):
            streams.write(STDERR, b"x" * 65535 + b"\n")
        read_secret(streams.stdin)
        found = files_in(streams)
        streams.write(STDOUT, str(len(found["report.pdf"])).encode())
        return 0

    daemon(process)
    report, lines = grade(submission)
    assert report == str(3 << 20).encode()
    assert [len(line) for line in lines] == [container_output.MAX_LINE_NUM_BYTES] * 64


def test_the_container_gets_nothing_it_does_not_need(submission, daemon):
    """The hardened flags arrive at the daemon."""
    running = daemon(says(0, (STDOUT, b"{}")))
    grade(submission, limits=ContainerLimits(memory_num_bytes=1 << 30))
    config, host = running.created, running.created["HostConfig"]
    assert (config["OpenStdin"], config["StdinOnce"], config["Tty"]) == (True, True, False)
    assert host["NetworkMode"] == "none"
    assert host["IpcMode"] == "private"
    assert host["ReadonlyRootfs"] is True
    assert host["AutoRemove"] is True
    assert host["Init"] is True
    assert host["CapDrop"] == ["ALL"]
    assert host["CapAdd"] == ["SETUID", "SETGID", "KILL"]
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert host["PidsLimit"] == 512
    assert host["Memory"] == host["MemorySwap"] == 1 << 30
    assert {limit["Name"]: limit["Hard"] for limit in host["Ulimits"]} == {
        "core": 0,
        "nofile": 1024,
        "nproc": 4096,
    }
    assert host["LogConfig"]["Type"] == "none"
    assert "mode=0700" in host["Tmpfs"]["/judge"]
    assert not {"Binds", "Mounts", "Devices", "Privileged"} & {
        key for key, value in host.items() if value
    }


def test_a_data_folder_is_mounted_read_only(submission, daemon, tmp_path):
    """At a fixed place, which the grader inside is told; the assignment is passed on, too."""
    data = tmp_path / "data"
    data.mkdir()
    for kind in ("images-idx3", "labels-idx1"):
        for name in ("train", "t10k"):
            (data / f"{name}-{kind}-ubyte").write_bytes(b"")
    running = daemon(says(0, (STDOUT, b"{}")))
    grade(submission, "--part", "ring_allreduce", data=data, assignment="mpi_sgd")
    assert running.created["HostConfig"]["Mounts"] == [
        {"Type": "bind", "Source": str(data), "Target": "/data", "ReadOnly": True}
    ]
    assert running.created["Cmd"] == [
        *("check", "--from-stdin", "--json", "-", "--assignment", "mpi_sgd", "--data", "/data"),
        *("--part", "ring_allreduce"),
    ]


def test_a_data_folder_without_data_is_bad_usage(submission, tmp_path, monkeypatch):
    """Said before any daemon is asked."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")
    (tmp_path / "data").mkdir()
    with pytest.raises(UsageError, match="data has no known data files"):
        grade(submission, data=tmp_path / "data")
    with pytest.raises(UsageError, match="none does not exist"):
        grade(submission, data=tmp_path / "none")


def test_files_in_folders_and_notebooks_go_in_as_they_are(submission, daemon):
    """With what a notebook's cells write, which is not found out again inside."""
    cell = {"cell_type": "code", "source": "%%writefile my_naive_allreduce.py\nx"}
    notebook = json.dumps({"cells": [cell]}).encode()
    (submission / "all.ipynb").write_bytes(notebook)
    (submission / "part1").mkdir()
    (submission / "part1" / "main.py").write_text("# one\n")
    arrived = []

    def process(streams: Streams) -> int:
        read_secret(streams.stdin)
        arrived.extend(files_in(streams).items())
        streams.write(STDOUT, b"{}")
        return 0

    daemon(process)
    grade(submission)
    assert dict(arrived) == {
        "all.ipynb/my_naive_allreduce.py": b"x\n",
        RING: b"# a ring\n",
        "part1/main.py": b"# one\n",
    }


def test_a_steered_terminal_stays_unsteered(submission, daemon):
    """Escape sequences in progress are left out."""
    daemon(says(0, (STDERR, b"\x1b]0;title\x07part \x1b[31mred\xff\r\n"), (STDOUT, b"{}")))
    assert grade(submission)[1] == ["]0;titlepart [31mred\ufffd"]


@pytest.mark.parametrize(
    ("process", "kind", "sentence"),
    [
        (says(2, (STDERR, b"grade: there is no part 'x'\n")), UsageError, "there is no part 'x'"),
        (says(3, (STDERR, b"grade: no secret\n")), GraderError, "no secret"),
        (says(3, (STDERR, b"grade: a: x\ngrade: a: y\n")), GraderError, r"^a: x\na: y$"),
        (says(3), GraderError, "ended with exit code 3 and no report"),
        (says(0), GraderError, "ended with exit code 0 and no report"),
        (says(139, (STDOUT, b'{"score": 100}')), GraderError, "exit code 139 and no report"),
        (says(127), GraderError, "the image 'grade' has no command `grade`"),
        (says(137, (STDOUT, b'{"score": 100}')), GraderError, "more than its 4 GiB of memory"),
    ],
)
def test_nothing_short_of_an_orderly_end_is_a_report(submission, daemon, process, kind, sentence):
    """Each other end is one clear sentence, and the container is removed."""
    running = daemon(process)
    with pytest.raises(GraderError, match=sentence) as raised:
        grade(submission)
    assert type(raised.value) is kind
    assert running.removed.is_set()


def test_a_report_with_the_graders_own_failure_is_a_report(submission, daemon):
    """Exit code 3 with a document on standard output is passed on."""
    daemon(says(3, (STDOUT, b'{"score": null}')))
    assert grade(submission)[0] == b'{"score": null}'


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"\x01\0\0", "ended early"),
        (b"\x01\0\0\0\0\0\0\x09only", "ended early"),
        (b"hello, I am a terminal", "is not multiplexed"),
    ],
)
def test_broken_output_is_never_a_report(submission, daemon, raw, sentence):
    """Output that ends inside a frame, or is none, is the grader's failure."""

    def process(streams: Streams) -> int:
        read_secret(streams.stdin)
        read_submission(streams.stdin, "it")
        streams.write_raw(raw)
        return 0

    daemon(process)
    with pytest.raises(GraderError, match=sentence):
        grade(submission)


def test_a_flood_is_cut_off(submission, daemon, monkeypatch):
    """More output than a report can hold ends the container."""
    monkeypatch.setattr(container_output, "MAX_REPORT_NUM_BYTES", 1000)
    running = daemon(says(0, (STDOUT, b"x" * 1001)))
    with pytest.raises(GraderError, match="more than a report can hold"):
        grade(submission)
    assert running.removed.is_set()


def test_a_silent_container_is_removed(submission, daemon):
    """A container that says nothing until the limit is ended, not waited for."""
    running = daemon(lambda streams: len(streams.stdin.read()) and 0)
    with pytest.raises(
        GraderError, match=r"made no progress for 0 s \(starting\), so it was stopped"
    ):
        grade(submission, limits=ContainerLimits(first_word_s=0.05))
    assert running.removed.is_set()


def test_an_interrupt_ends_the_container(submission, daemon):
    """Ctrl-C closes its standard input and removes it."""
    input_ended = threading.Event()

    def process(streams: Streams) -> int:
        read_secret(streams.stdin)
        read_submission(streams.stdin, "it")
        streams.write(STDERR, b"grading\n")
        journal.read(streams.stdin)
        assert streams.stdin.read() == b""
        input_ended.set()
        return 3

    def interrupt(line: str) -> None:
        raise KeyboardInterrupt

    running = daemon(process)
    with pytest.raises(KeyboardInterrupt):
        grade_plainly(submission, on_progress=interrupt)
    assert running.removed.is_set()
    assert input_ended.wait(10)


def test_what_killed_clients_left_unstarted_is_removed(submission, daemon):
    """A container whose client is still there, or on another machine, stays."""
    machine = client().rpartition(":")[0]
    stale = [
        {"Id": "left", "Labels": {"grader.client": f"{machine}:99999999"}},
        {"Id": "ours", "Labels": {"grader.client": client()}},
        {"Id": "theirs", "Labels": {"grader.client": "elsewhere:99999999"}},
    ]
    running = daemon(says(0, (STDOUT, b"{}")))
    running.stale = stale
    grade(submission)
    assert "left" in running.removals
    assert not {"ours", "theirs"} & set(running.removals)


def test_the_kernel_is_tried_until_one_report_has_come(submission, daemon, tmp_path, monkeypatch):
    """A grading that was refused proves nothing; after a report the next container is told."""

    def told(exit_code, *said) -> str:
        running.process = says(exit_code, *said)
        try:
            grade(submission, refusals=tmp_path / "selftest")
        except GraderError:
            assert exit_code == 3
        assert running.created["Image"] == "sha256:grade"
        (variable,) = running.created["Env"]
        return variable.removeprefix("GRADER_KERNEL_REFUSED=")

    (tmp_path / "boot_id").write_text("a boot\n")
    monkeypatch.setattr(kernel_refusals, "_BOOT_ID", tmp_path / "boot_id")
    running = daemon(says(0))
    assert told(3, (STDERR, b"grade: refusing to grade\n")) == ""
    assert told(0, (STDOUT, b"{}")) == ""
    assert told(0, (STDOUT, b"{}")) == "a boot"


def test_a_missing_image_says_how_to_build_it(submission, daemon):
    """The next step is in the sentence."""
    daemon(says(0))
    with pytest.raises(GraderError, match="no image 'nowhere' here: build it with `make image`"):
        grade(submission, image="nowhere")


@pytest.mark.parametrize(
    ("installed", "sentence"),
    [(None, "Docker is not installed"), ("/bin/docker", "its daemon does not answer: start it")],
)
def test_no_daemon(submission, monkeypatch, installed, sentence):
    """Not installed and not running are told apart."""
    monkeypatch.delenv("DOCKER_HOST", raising=False)

    def find_nothing() -> None:
        raise docker.errors.DockerException("Error while fetching") from FileNotFoundError(2, "no")

    monkeypatch.setattr(docker, "from_env", find_nothing)
    monkeypatch.setattr("shutil.which", lambda name: installed)
    with pytest.raises(GraderError, match=sentence) as raised:
        grade(submission)
    assert "grade check DIR" in str(raised.value)
    assert raised.value.exit_code == 3


def test_a_dead_daemon(submission, tmp_path, monkeypatch):
    """A socket file that nobody listens on is a daemon that is not running."""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "dead.sock"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path / 'dead.sock'}")
    monkeypatch.setattr("shutil.which", lambda name: "/bin/docker")
    with pytest.raises(GraderError, match=r"no Docker daemon answers at DOCKER_HOST=.*dead\.sock"):
        grade(submission)


def test_a_forbidden_daemon(submission, monkeypatch):
    """Lack of permission names the group."""

    def refuse() -> None:
        inner = requests.exceptions.ConnectionError(
            OSError("Connection aborted.", PermissionError(13, "Permission denied"))
        )
        raise docker.errors.DockerException("Error while fetching server API version") from inner

    monkeypatch.setattr(docker, "from_env", refuse)
    with pytest.raises(GraderError, match="added to the group `docker`"):
        DockerEngine.connect()


def test_bad_usage_needs_no_docker(tmp_path, monkeypatch):
    """A folder that is not there is said so before any daemon is asked."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")
    with pytest.raises(UsageError, match="does not exist"):
        grade(tmp_path / "none")


@pytest.mark.parametrize("name", [None, "mpi_sgd"])
@pytest.mark.parametrize(
    "said",
    ["unknown assignment 'mpi_sgd'; known: x", "it contains no file of any known assignment"],
)
def test_an_image_without_the_assignment_is_no_fault_of_the_hand_in(submission, daemon, name, said):
    daemon(says(2, (STDERR, f"grade: {said}\n".encode())))
    told = "the image 'grade' lacks the assignment mpi_sgd of the course .*; run `make image`"
    with pytest.raises(GraderError, match=told) as error:
        grade(submission, assignment=name)
    assert error.value.exit_code == 3
    (submission / RING).rename(submission / "notes.py")
    with pytest.raises(UsageError, match="assignment"):
        grade(submission)

"""Judge and ranks in two containers, against a Docker daemon that is only an API."""

import os
import threading
from pathlib import Path

import pytest
from docker_daemon import STDERR, STDOUT, FakeDaemon, Streams

from grader import journal
from grader.container.engine import ContainerLimits, client, has_gone
from grader.container.sealed_grading import grade_in_container
from grader.courses import find_courses
from grader.errors import GraderError
from grader.intake.stream import read_secret, read_submission

RANKS, JUDGE = "c1", "c2"
PATIENCE_S = 30


@pytest.fixture
def submission(tmp_path: Path) -> Path:
    folder = tmp_path / "anna"
    folder.mkdir()
    (folder / "my_ring_allreduce.py").write_text("# a ring\n")
    return folder


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def report(streams: Streams) -> int:
        # Who closes a connection with something unread in it breaks it for the other end.
        read_secret(streams.stdin)
        read_submission(streams.stdin)
        journal.read(streams.stdin)
        streams.write(STDOUT, b'{"score": 3}')
        return 1

    running = FakeDaemon(tmp_path, report)
    running.images["grade-ranks"] = "one source"
    monkeypatch.setenv("DOCKER_HOST", running.url)
    yield running
    running.close()


def grade(submission: Path, **more) -> bytes:
    return grade_in_container(
        submission,
        courses=find_courses(),
        image="grade",
        ranks_image="grade-ranks",
        on_progress=lambda line: None,
        **more,
    )


def test_the_ranks_get_the_limits_and_nothing_else(submission, daemon):
    """No command, no data folder, no variable; the submission goes to the judge."""
    received, has_read = [], threading.Event()

    def ranks_process(streams):
        received.append(streams.stdin.read())
        has_read.set()
        return 0

    daemon.ranks_process = ranks_process
    assert grade(submission, limits=ContainerLimits(memory_num_bytes=3 << 30)) == b'{"score": 3}'
    ranks, judge = (daemon.containers[name].configuration for name in (RANKS, JUDGE))
    assert (ranks["Image"], judge["Image"]) == ("grade-ranks", "grade")
    assert not ranks["Cmd"] and "Env" not in ranks
    assert judge["Env"] == ["GRADER_RANKS=/ranks"]
    assert ranks["HostConfig"]["Memory"] == 3 << 30
    assert judge["HostConfig"]["Memory"] == 2 << 30
    assert has_read.wait(PATIENCE_S)
    assert received == [b""]


def test_both_are_hardened_alike(submission, daemon):
    """But for the sizes and the shared folder."""
    grade(submission)
    own = {"Memory", "MemorySwap", "PidsLimit", "ShmSize", "Mounts", "VolumesFrom"}
    ranks, judge = (
        {
            key: value
            for key, value in daemon.containers[name].configuration["HostConfig"].items()
            if key not in own
        }
        for name in (RANKS, JUDGE)
    )
    assert ranks == judge
    assert (ranks["NetworkMode"], ranks["ReadonlyRootfs"]) == ("none", True)


def test_they_share_one_folder_in_memory(submission, daemon):
    """It has no name, so that it goes with the last container that uses it."""
    grade(submission)
    ranks, judge = (daemon.containers[name].configuration["HostConfig"] for name in (RANKS, JUDGE))
    (mount,) = ranks["Mounts"]
    assert (mount["Type"], mount["Target"], mount["Source"]) == ("volume", "/ranks", None)
    driver = mount["VolumeOptions"]["DriverConfig"]
    assert (driver["Name"], driver["Options"]["type"]) == ("local", "tmpfs")
    options = set(driver["Options"]["o"].split(","))
    assert {"nosuid", "nodev", "noexec", "mode=0711"} <= options
    (num_pages,) = (int(each[10:]) for each in options if each.startswith("nr_blocks="))
    assert num_pages * os.sysconf("SC_PAGE_SIZE") == 256 << 20
    assert judge["VolumesFrom"] == [RANKS]
    assert "Mounts" not in judge


def test_the_end_of_the_judge_is_the_end_of_both(submission, daemon):
    """Both are removed, the judge first; also when there is no report."""
    daemon.process = lambda streams: 3
    with pytest.raises(GraderError):
        grade(submission)
    kept = list(daemon.containers)
    assert kept[:2] == [RANKS, JUDGE]
    assert daemon.removals[:2] == [JUDGE, RANKS]
    assert sorted(daemon.removals) == sorted(kept)


def test_an_interrupt_ends_both(submission, daemon):
    """Ctrl-C closes both standard inputs and removes both."""

    def talk(streams: Streams) -> int:
        streams.write(STDERR, b"grading\n")
        return len(streams.stdin.read()) and 3

    def interrupt(line: str) -> None:
        raise KeyboardInterrupt

    ended = threading.Event()
    daemon.process = talk
    daemon.ranks_process = lambda streams: streams.stdin.read() == b"" and (ended.set() or 0)
    with pytest.raises(KeyboardInterrupt):
        grade_in_container(
            submission,
            courses=find_courses(),
            image="grade",
            ranks_image="grade-ranks",
            on_progress=interrupt,
        )
    assert daemon.removals == [JUDGE, RANKS]
    assert ended.wait(PATIENCE_S)


def test_images_of_different_sources_do_not_grade(submission, daemon):
    """Judge and ranks must speak one language."""
    daemon.images["grade-ranks"] = "another source"
    with pytest.raises(GraderError, match="'grade' and 'grade-ranks' were built from different"):
        grade(submission)
    assert not daemon.containers


def test_a_missing_image_of_the_ranks_says_how_to_build_it(submission, daemon):
    """By its name."""
    del daemon.images["grade-ranks"]
    with pytest.raises(GraderError, match="no image 'grade-ranks' here: build it with `make image"):
        grade(submission)


def test_what_killed_clients_left_unstarted_is_removed(submission, daemon):
    """A container whose client is still there, or on another machine, stays."""
    machine = client().rpartition(":")[0]
    daemon.stale = [
        {"Id": "left", "Labels": {"grader.client": f"{machine}:99999999"}},
        {"Id": "ours", "Labels": {"grader.client": client()}},
        {"Id": "theirs", "Labels": {"grader.client": "elsewhere:99999999"}},
    ]
    grade(submission)
    assert "left" in daemon.removals
    assert not {"ours", "theirs"} & set(daemon.removals)


def test_only_a_process_of_this_machine_can_have_gone():
    """Anything else may still be there."""
    machine = client().rpartition(":")[0]
    assert has_gone(f"{machine}:99999999")
    assert not has_gone(client())
    assert not any(map(has_gone, ["", "elsewhere:99999999", f"{machine}:", f"{machine}:x"]))
    assert not any(map(has_gone, [f"{machine}:{1 << 80}", f"{machine}:\u0663", f"{machine}:-1"]))
    # Of a container with the same name, whose processes have other numbers.
    namespace = f"pid:[{Path('/proc/self/ns/pid').stat().st_ino + 1}]"
    assert not has_gone(f"{machine.partition('/')[0]}/{namespace}:99999999")


def test_a_process_that_may_not_be_signalled_is_there(monkeypatch):
    """It is somebody else's, whom /proc may hide; a system may have no /proc at all."""

    def refuse(pid, number):
        raise PermissionError(1, "Operation not permitted")

    name = client()
    monkeypatch.setattr(os, "kill", refuse)
    assert not has_gone(f"{name.rpartition(':')[0]}:99999999")

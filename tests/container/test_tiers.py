"""The runner's tiers, for real: judge and ranks in two containers, and podman.

Needs the images that `make image` builds. Without a Docker daemon these tests are skipped, but not
where CI=true: there a skipped container test is a failure. podman is tested where it is installed.
"""

import json
import os
import shutil
import subprocess
import time

import docker
import pytest
from docker.errors import DockerException
from this_checkout import GRADE, IMAGE, RANKS_IMAGE, ROOT

from grader.container.engine import CLIENT_LABEL, name_of_client

REFERENCE = ROOT / "reference" / "mpi_sgd"
DEADLOCK = ROOT / "tests/submissions/deadlock/mpi_sgd/ring_receives_from_the_wrong_side"
TWO = ("--isolation", "two-containers")
RING = ("--part", "ring_allreduce")
LIMIT_S = 900


@pytest.fixture(scope="module")
def engine():
    try:
        client = docker.from_env()
        client.images.get(IMAGE)
        client.images.get(RANKS_IMAGE)
    except DockerException as error:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no Docker, or `make image` has not been run: {error}")
        pytest.skip(f"no Docker, or `make image` has not been run: {error}")
    return client


@pytest.fixture(scope="module")
def podman():
    if shutil.which("podman") is None:
        pytest.skip("podman is not installed")
    for image in (IMAGE, RANKS_IMAGE):
        if subprocess.run(["podman", "image", "exists", image]).returncode:
            pytest.skip(f"podman has no image {image}: make podman-images")
    # Inside of some containers it cannot: that is the machine's affair, not the grader's.
    limits = ["--ulimit=nofile=256", "--ulimit=nproc=256"]
    trial = ["podman", "run", "--rm", "--network=none", *limits, "--entrypoint=true", IMAGE]
    tried = subprocess.run(trial, capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"podman starts no container here: {tried.stderr.strip()[-300:]}")
    return "podman"


def start(*arguments) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*GRADE, "run", *map(str, arguments), "--json", "-"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def graded(client: subprocess.Popen[str]) -> dict:
    out, error = client.communicate(timeout=LIMIT_S)
    assert out, error
    return {"exit": client.returncode, **json.loads(out)}


def without_measured(value):
    if isinstance(value, dict):
        return {k: without_measured(v) for k, v in value.items() if k != "measured"}
    if isinstance(value, list):
        return [without_measured(each) for each in value]
    return value


def wait_for(found, limit_s: float = LIMIT_S):
    until_s = time.monotonic() + limit_s
    while time.monotonic() < until_s:
        value = found()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError("waited in vain")


def of_client(engine, client: subprocess.Popen[str]) -> list:
    """Return the containers and volumes of one `grade run`."""
    label = {"label": f"{CLIENT_LABEL}={name_of_client(client.pid)}"}
    found = engine.containers.list(all=True, filters=label, ignore_removed=True)
    return [*found, *engine.volumes.list(filters=label)]


def ranks_of(engine, client: subprocess.Popen[str], but=""):
    """Return the container of the ranks, once the submission's compute in it.

    but: the id of an earlier one, which may still be listed.
    """
    assert client.stderr is not None
    assert any("grading ring_allreduce" in line for line in client.stderr)
    (found,) = wait_for(
        lambda: [
            each
            for each in of_client(engine, client)
            if each.id not in but and hasattr(each, "image") and RANKS_IMAGE in str(each.image.tags)
        ]
    )
    wait_for(lambda: found.status == "running" or found.reload())
    wait_for(lambda: "stub.py" in str(found.top()))
    return found


def test_two_containers_give_the_verdict_of_one(engine):
    """Down to the places in the code where each rank hangs, which only its own container knows."""
    reports = [graded(start(DEADLOCK, *RING, *isolation)) for isolation in ((), TWO)]
    parts = [without_measured(report["parts"]) for report in reports]
    assert parts[0] == parts[1]
    assert parts[0][0]["verdict"] == "DEADLOCK"
    assert "my_ring_allreduce.py:" in parts[0][0]["message"]


SNOOPING_RING = """
import os
def ringallreduce(send, recv, comm, op):
    found = []
    for path in ("/opt/grader", "/usr/local/bin/grade"):
        if os.path.lexists(path):
            found.append(path)
    for pid in range(1, 1000):
        try:
            with open(f"/proc/{pid}/cmdline") as file:
                name = file.read()
        except OSError:
            continue
        if "from-stdin" in name:
            found.append(name)
    folders = sorted(os.listdir("/opt/ranks")) + sorted(os.listdir("/opt"))
    try:
        os.listdir("/ranks")
        found.append("/ranks")
    except PermissionError:
        pass
    raise ValueError(f"folders {folders}, of the judge {found}")
"""


def test_the_ranks_container_holds_nothing_of_the_judge(engine, tmp_path):
    """Neither its files, nor its command, nor its process."""
    (tmp_path / "my_ring_allreduce.py").write_text(SNOOPING_RING)
    (part,) = graded(start(tmp_path, *RING, *TWO))["parts"]
    assert part["verdict"] == "RUN_TIME_ERROR"
    folders = "['rank', 'zygote', 'interposer', 'ranks', 'venv']"
    assert f"folders {folders}, of the judge []" in part["message"]


@pytest.mark.slow
def test_the_ranks_image_holds_two_folders_of_ours(engine):
    """The zygote and the ranks' own code, and the name of no suite, reference or judge."""
    container = engine.containers.create(RANKS_IMAGE)
    try:
        listing = subprocess.run(
            f"docker export {container.id} | tar -t", shell=True, capture_output=True, text=True
        ).stdout.splitlines()
    finally:
        container.remove()
    for folder, holds in {
        "opt": {"interposer", "ranks", "venv"},
        "opt/ranks": {"rank", "zygote"},
        "usr/local/bin": set(),
    }.items():
        below = [name.removeprefix(f"{folder}/") for name in listing if name.startswith(folder)]
        assert {name.split("/")[0] for name in below} - {""} == holds, folder
    assert not [name for name in listing if "assignment.toml" in name]


HANGING_RING = """
import time
def ringallreduce(send, recv, comm, op):
    time.sleep(1000)
"""


@pytest.mark.slow
def test_a_killed_container_of_the_ranks_costs_nothing(engine, tmp_path):
    """The test in progress is tried again, in two fresh containers; nothing of the old stays."""
    (tmp_path / "my_ring_allreduce.py").write_text(HANGING_RING)
    client = start(tmp_path, *RING, *TWO)
    ranks_of(engine, client).kill()
    report = graded(client)
    (part,) = report["parts"]
    assert (report["exit"], part["verdict"]) == (1, "TIME_LIMIT_EXCEEDED")
    (note,) = (each for each in report["notes"] if "killed" in each)
    assert note.startswith("the grading container was killed once (the container of the ranks has")
    wait_for(lambda: not of_client(engine, client))


@pytest.mark.slow
def test_a_test_in_which_the_ranks_container_is_killed_twice_is_no_zero(engine, tmp_path):
    """The grader has failed (exit 3, no score)."""
    (tmp_path / "my_ring_allreduce.py").write_text(HANGING_RING)
    client = start(tmp_path, *RING, *TWO)
    first = ranks_of(engine, client)
    first.kill()
    ranks_of(engine, client, but=first.id).kill()
    report = graded(client)
    assert (report["exit"], report["score"]) == (3, None)
    (part,) = report["parts"]
    assert part["verdict"] == "JUDGE_ERROR"
    assert "was killed twice during this test (the container of the ranks" in part["message"]
    wait_for(lambda: not of_client(engine, client))


def test_both_containers_end_with_their_client(engine, tmp_path):
    """Also with one that was killed: neither a container nor the shared folder stays."""
    (tmp_path / "my_ring_allreduce.py").write_text(HANGING_RING)
    client = start(tmp_path, *RING, *TWO)
    ranks_of(engine, client)
    assert len(of_client(engine, client)) == 3
    client.kill()
    client.communicate(timeout=LIMIT_S)
    wait_for(lambda: not of_client(engine, client))


@pytest.mark.slow
def test_podman_gives_the_verdict_of_docker(engine, podman):
    """In two containers, and with nothing left."""
    clients = [start(DEADLOCK, *RING, *TWO, "--engine", each) for each in ("docker", podman)]
    reports = [graded(client) for client in clients]
    parts = [without_measured(report["parts"]) for report in reports]
    assert parts[0] == parts[1]
    assert parts[0][0]["verdict"] == "DEADLOCK"
    of_podman = f"label={CLIENT_LABEL}={name_of_client(clients[1].pid)}"
    label = ("--filter", of_podman, "--quiet")
    for what in (("ps", "--all"), ("volume", "ls")):
        found = subprocess.run([podman, *what, *label], capture_output=True, text=True, check=True)
        assert found.stdout == ""


def test_podman_gives_the_reference_full_marks(podman):
    """In one container, with the hardened flags."""
    report = graded(start(REFERENCE, *RING, "--engine", podman))
    assert (report["exit"], report["score"]) == (0, report["max_score"])

"""A judge that is stopped in a real container is noticed, by whichever door the grading came in.

Needs the image that `make image` builds. Without a Docker daemon these tests are skipped, but not
where CI=true: there a skipped container test is a failure.
"""

import contextlib
import io
import json
import subprocess
import tarfile
import threading
import time

import docker
import pytest
from plain_grading import grade_plainly
from this_checkout import IMAGE, ROOT, TAG

from grader.sealed.container.plan import CLIENT_LABEL, client

IMPATIENT = f"grade-impatient:{TAG}"
LIMIT_S = 240
SUBMISSION = """
import time

def allreduce(send, recv, comm, op):
    time.sleep(3)
"""
RUNNER = "/opt/grader/grader/observe/run_control"
CONTEXT = {
    "Dockerfile": f"FROM {IMAGE}\nCOPY *.py {RUNNER}/\nCOPY *.pyc {RUNNER}/__pycache__/\n",
    "launch.py": (ROOT / "grader" / "observe" / "run_control" / "launch.py")
    .read_text()
    .replace("GRACE_S = 120.0", "GRACE_S = 2.0")
    .replace("READY_LIMIT_S + limits.start_s", "20.0")
    + "\nMAX_SLOWDOWN = 0.2\n",
    "launch.cpython-311.pyc": "",  # none, so that the source is read
}
"""A judge that grants itself little: the test need not wait as long as a busy machine may take."""
STOP_JUDGE = """
import glob, os, signal
if not glob.glob("/dev/shm/grader-*/submission/my_naive_allreduce.py"):
    raise SystemExit  # so far, the selftest
names = {}
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        command = open(f"/proc/{pid}/cmdline").read().split(chr(0))
        parent = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1]
    except OSError:
        continue
    names[pid] = (parent, command)
def below(parent):
    return [pid for pid, (other, _) in names.items() if other == parent]
# Not what watches a judge, which the container begins with: left-over processes become its own.
is_watched = "--from-stdin" not in names["1"][1]
judges = [pid for pid, (parent, command) in names.items() if "check" in command and any(
    "prterun" in " ".join(names[run][1]) for forkserver in below(pid) for run in below(forkserver))
    and not (is_watched and parent == "1")]
for judge in judges:
    os.kill(int(judge), signal.SIGSTOP)
"""


@pytest.fixture(scope="module")
def engine(engine):
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as tar:
        for name, text in CONTEXT.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    context.seek(0)
    engine.images.build(fileobj=context, custom_context=True, tag=IMPATIENT, rm=True)
    yield engine
    engine.images.remove(IMPATIENT, force=True)


@pytest.fixture
def stop_judges(engine):
    """Return a function: each judge in a container of this label is stopped, once it has ranks."""
    over = threading.Event()
    threads = []

    def arm(label: str) -> None:
        def stop() -> None:
            while not over.is_set():
                for container in engine.containers.list(filters={"label": label}):
                    with contextlib.suppress(docker.errors.APIError):  # it has just ended
                        container.exec_run(["/opt/venv/bin/python", "-c", STOP_JUDGE])
                time.sleep(0.5)

        threads.append(threading.Thread(target=stop))
        threads[-1].start()

    yield arm
    over.set()
    for thread in threads:
        thread.join()


@pytest.fixture
def submission(tmp_path):
    folder = tmp_path / "anna"
    folder.mkdir()
    (folder / "my_naive_allreduce.py").write_text(SUBMISSION)
    return folder


def assert_is_for_a_person(report: dict, noun: str) -> None:
    """Assert that there is no mark, that nobody is blamed, and that a person is asked to look."""
    assert (report["score"], report["review"], report["exit_code"]) == (None, True, 3)
    (part,) = report["parts"]
    (lost,) = [test for test in part["tests"] if test["verdict"] == "JUDGE_ERROR"]
    assert lost["message"].startswith(f"the {noun} was killed twice during this check (")
    assert "made no progress for" in lost["message"]
    assert lost["message"].endswith("look at this submission yourself")


def test_a_stopped_judge_of_grade_run(stop_judges, submission):
    """The client ends its container and starts another; then the test is given up."""
    stop_judges(f"{CLIENT_LABEL}={client()}")
    started_s = time.monotonic()
    options = ["--part", "naive_allreduce"]
    report = grade_plainly(submission, image=IMPATIENT, options=options)
    assert_is_for_a_person(json.loads(report), "grading container")
    assert time.monotonic() - started_s < LIMIT_S


def test_a_stopped_judge_of_plain_docker_run(stop_judges, submission):
    """Nobody is outside: the process that the container starts with watches its child."""
    label = "grader.test=watchdog"
    stop_judges(label)
    done = subprocess.run(
        [
            *("docker", "run", "--rm", "--network=none", f"--label={label}"),
            *("-v", f"{submission}:/submission:ro", IMPATIENT, "check", "/submission"),
            *("--part", "naive_allreduce", "--json", "-"),
        ],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert done.returncode == 3 and done.stdout, done.stderr
    assert_is_for_a_person(json.loads(done.stdout), "judge")

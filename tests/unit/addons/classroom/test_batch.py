"""Two gradings never share a core; what is kept of one names nobody who has handed in the files."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from class_samples import outcome

from grader.addons.classroom import batch, class_folder
from grader.addons.classroom.arrivals import digest_of
from grader.addons.classroom.batch import Task, nameless
from grader.addons.classroom.gradings import Gradings
from grader.addons.classroom.tables import read_settings
from grader.course.secret import read_key
from grader.intake.archives import names
from grader.model.errors import GraderError, UsageError
from grader.report.safe_text import one_line


@pytest.fixture
def locks(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_blocks_are_whole_cores():
    """What is left over stays idle; a small machine has one block of all there is."""
    four = [(0, 4), (1, 5), (2, 6), (3, 7)]
    assert batch.blocks(four, 2) == [((0, 4), (1, 5)), ((2, 6), (3, 7))]
    assert batch.blocks(four, 3) == [((0, 4), (1, 5), (2, 6))]
    assert batch.blocks(four, 9) == [tuple(four)]


def test_processors_of_one_core_are_together(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 6})
    monkeypatch.setattr(batch, "_siblings", lambda cpu: {cpu % 4, cpu % 4 + 4})
    assert batch.cores_here() == [(0,), (1,), (2, 6)]


def test_a_block_is_one_gradings_at_a_time(locks):
    """Whoever comes when all are taken waits; nobody sees another in the same block."""
    free = batch.blocks([(0,), (1,)], 1)
    inside, most = [], []

    def work():
        with batch.taken(free) as (cpus, _):
            inside.append(cpus)
            most.append(list(inside))
            time.sleep(0.05)
            inside.remove(cpus)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 6
    assert all(len(set(each)) == len(each) <= 2 for each in most)


def test_who_waits_for_cores_begins_nothing_once_the_command_has_ended(locks):
    """An interrupt kills the gradings, and so frees their cores."""
    free, ended = batch.blocks([(0,)], 1), threading.Event()
    with batch.taken(free):
        ended.set()
        with pytest.raises(GraderError, match="has ended"), batch.taken(free, ended):
            pass
    with pytest.raises(GraderError, match="has ended"), batch.taken(free, ended):
        pass


def is_free(block):
    with contextlib.ExitStack() as closing:
        return bool(batch._locked(batch._folder(), block, closing))


def test_a_child_keeps_the_block_of_a_parent_that_was_killed(locks):
    """As long as it lives: what still runs on a core is not disturbed."""
    free = batch.blocks([(0,)], 1)
    child = "import os, time; os.write(1, b'x'); time.sleep(60)"
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            with batch.taken(free) as (_, held):
                process = subprocess.Popen([sys.executable, "-c", child], pass_fds=held)
                os.write(writing, str(process.pid).encode())
                time.sleep(60)
        finally:
            os._exit(1)
    left = int(os.read(reading, 20))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert not is_free(free[0])
    os.kill(left, signal.SIGKILL)
    until_s = time.monotonic() + 10
    while not is_free(free[0]):
        assert time.monotonic() < until_s
        time.sleep(0.01)
    for descriptor in (reading, writing):
        os.close(descriptor)


def test_a_folder_of_locks_that_is_somebody_elses_is_refused(locks):
    (locks / f"grader-cores-{os.geteuid()}").symlink_to("/etc")
    with pytest.raises(GraderError, match="belongs to another user"), batch.taken([((0,),)]):
        pass


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("kind = 'slum'", 'kind: found "slum"; expected one of: local, slurm'),
        ("kind = 'slurm'\nprovide = 1", "provide: unknown key; .* Did you mean provider"),
        ("kind = 'slurm'\nprovider = 1", "provider: found 1; expected a table"),
        ("kind = ", "is not valid TOML"),
        ("", "kind: missing; expected one of: local"),
    ],
)
def test_a_cluster_that_is_described_wrongly_is_one_sentence(tmp_path, text, problem):
    file = Path(tmp_path / "cluster.toml")
    file.write_text(text)
    with pytest.raises(UsageError, match=problem):
        read_settings(file, batch.Cluster, lambda _: ())


SHORT = "/home/prof/class/Ann Lee_1_assignsubmission_file_"
TASK = {"key": "key", "arguments": ("run",), "cores": 1, "memory_num_bytes": 0}
LONG = f"/home/prof/{'deep/' * 100}Ann Lee_1_assignsubmission_file_"


@pytest.mark.parametrize("path", [SHORT, LONG, f"{SHORT}\x1b", f"{SHORT}\udce9", f"{SHORT}  ."])
@pytest.mark.parametrize("shown", [str, names.shortened, one_line])
def test_nothing_says_whose_files_they_are(path, shown):
    """Who has handed in the same is graded once with them, and is told the same."""
    said = nameless(f"grade: {shown(path)} holds no file", path)
    assert said == "grade: the hand-in holds no file"


def test_what_lies_in_a_hand_in_is_still_named():
    assert (
        nameless(f"{SHORT}/ring.py cannot be read", SHORT) == "the hand-in/ring.py cannot be read"
    )


@pytest.mark.parametrize("changes", [False, True])
def test_what_is_changed_while_it_is_graded_is_not_kept(tmp_path, monkeypatch, changes):
    """The mark of other files would be given to whoever hands in those of before."""
    made = tmp_path / "in"
    made.mkdir()
    (made / "ring.py").write_text("x = 1")

    def run(_, report, *others):
        (made / "ring.py").write_text("x = 2" if changes else "x = 1")
        report.write_text("{}")
        return outcome()

    monkeypatch.setattr(batch, "_run", run)
    out, digest = str(tmp_path / "out"), digest_of(made)
    each = Task(digest=digest, path=str(made), gradings=out, **TASK)
    ended = batch.grade(each)
    assert ended.is_final is not changes
    assert Gradings(tmp_path / "out").has("key") is not changes
    assert ("the hand-in has changed since the command began" in ended.error) is changes


@pytest.mark.parametrize("name", ["", ".DS_Store", "folder/.gitkeep"])
def test_an_empty_hand_in_starts_nothing(tmp_path, monkeypatch, name):
    """Neither a container nor ranks, and it is settled once: other files are another hand-in."""
    monkeypatch.setattr(batch, "_run", None)
    made = tmp_path / "in"
    made.mkdir()
    if name:
        (made / name).parent.mkdir(exist_ok=True)
        (made / name).write_text("")
    each = Task(digest=digest_of(made), path=str(made), gradings=str(tmp_path / "out"), **TASK)
    ended = batch.grade(each)
    assert ended.is_final and ended.is_empty and ended.error.startswith("the hand-in is empty")
    gradings = Gradings(tmp_path / "out")
    assert gradings.load("key").outcome == ended
    assert gradings.is_refused("key") and not gradings.may_change("key")


def test_recordings_of_a_class_are_signed_with_a_key_of_its_own(tmp_path, monkeypatch):
    """Which is drawn once; the course's own counts before it, and an unsealed grading has none."""
    monkeypatch.delenv("GRADER_RECORDING_KEY_FILE", raising=False)
    file = class_folder.recording_key_in(tmp_path)
    key = read_key(file)
    assert class_folder.recording_key_in(tmp_path) == file and read_key(file) == key
    for key_file in (str(file), ""):
        each = Task(digest="digest", path="in", gradings="out", key_file=key_file, **TASK)
        found = batch._environment(each)
        assert found.get("GRADER_RECORDING_KEY_FILE", "") == key_file
    monkeypatch.setenv("GRADER_RECORDING_KEY_FILE", "/course/key")
    assert class_folder.recording_key_in(tmp_path) == Path("/course/key")
    assert "GRADER_RECORDING_KEY_FILE" not in batch._environment(each)

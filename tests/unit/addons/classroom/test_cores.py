"""Two gradings never share a core, and one that was killed keeps none."""

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

from grader.addons.classroom import batch
from grader.addons.classroom.tables import read_settings
from grader.model.errors import GraderError, UsageError


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
        ("kind = 'slurm'\nprovide = 1", "provide: unknown key; did you mean provider"),
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

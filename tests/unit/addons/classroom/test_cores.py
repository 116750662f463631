"""Two gradings never share a core."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pytest

from grader.addons.classroom import cores
from grader.model.errors import GraderError


@pytest.fixture
def locks(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_blocks_are_whole_cores():
    """What is left over stays idle; a small machine has one block of all there is."""
    four = [(0, 4), (1, 5), (2, 6), (3, 7)]
    assert cores.blocks(four, 2) == [((0, 4), (1, 5)), ((2, 6), (3, 7))]
    assert cores.blocks(four, 3) == [((0, 4), (1, 5), (2, 6))]
    assert cores.blocks(four, 9) == [tuple(four)]


def test_processors_of_one_core_are_together(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 6})
    monkeypatch.setattr(cores, "_siblings", lambda cpu: {cpu % 4, cpu % 4 + 4})
    assert cores.cores_here() == [(0,), (1,), (2, 6)]


def test_a_block_is_one_gradings_at_a_time(locks):
    """Whoever comes when all are taken waits; nobody sees another in the same block."""
    free = cores.blocks([(0,), (1,)], 1)
    inside, most = [], []

    def work():
        with cores.taken(free) as (cpus, _):
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
    free, ended = cores.blocks([(0,)], 1), threading.Event()
    with cores.taken(free):
        ended.set()
        with pytest.raises(GraderError, match="has ended"), cores.taken(free, ended):
            pass
    with pytest.raises(GraderError, match="has ended"), cores.taken(free, ended):
        pass


def is_free(block):
    with contextlib.ExitStack() as closing:
        return bool(cores._locked(cores._folder(), block, closing))


def test_a_child_keeps_the_block_of_a_parent_that_was_killed(locks):
    """As long as it lives: what still runs on a core is not disturbed."""
    free = cores.blocks([(0,)], 1)
    child = "import os, time; os.write(1, b'x'); time.sleep(60)"
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            with cores.taken(free) as (_, held):
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
    with pytest.raises(GraderError, match="belongs to another user"), cores.taken([((0,),)]):
        pass

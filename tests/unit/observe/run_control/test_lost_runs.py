"""Runs that lie about their end, use too much together, or take down what watches them."""

import threading
from pathlib import Path

import pytest
from launching import case, run, values

from grader.model.errors import GraderError
from grader.model.report import Verdict
from grader.observe.forkserver.processes import descendants
from grader.observe.run_control.forkserver_client import ForkserverClient
from grader.recording.launch_plan import Limits

MIB = 1 << 20
FIND_SOCKET = """
    import gc, json, os, socket, struct, time
    def is_judge(each):
        try:
            return isinstance(each, socket.socket) and each.getpeername().endswith("judge.sock")
        except OSError:  # closed, as those of the process that this one was forked from
            return False
    def judge():
        return next(filter(is_judge, gc.get_objects()))
    def say(kind, arrays=(), payload=b""):
        values = {"texts": {}} if kind == "result" else {}
        head = json.dumps({"kind": kind, "values": values, "arrays": list(arrays)}).encode()
        judge().sendall(struct.pack(">I", len(head)) + head + payload)
"""
A_RESULT = 'say("result", [["value", "<f8", []]], struct.pack("<d", 7.0))'


def alone(source, **options):
    return run(source, ranks=1, backend="none", cases=(case(ranks=1),), **options)


@pytest.mark.parametrize(
    "lie",
    [
        A_RESULT,  # A result without the word that the call is over would take no time.
        f'say("finished"); {A_RESULT}; {A_RESULT}; time.sleep(5)',
        'say("finished"); time.sleep(0.2); say("finished")',
    ],
)
def test_a_rank_does_not_choose_its_own_time(lie):
    """Whoever speaks in our harness's place, and not as it does, gets no outcome."""
    source = FIND_SOCKET + f"\n    def go(comm):\n        {lie}\n        time.sleep(1000)\n"
    ranks = 2  # The other rank keeps the case open until the judge has heard everything.
    launched = run(
        source.replace("def go(comm):", "def go(comm):\n        if comm.rank: time.sleep(1000)"),
        ranks=ranks,
        limits=Limits(case_s=30),
    )
    assert launched.failure is not None
    assert launched.failure.verdict is Verdict.RUN_TIME_ERROR
    assert launched.failure.message == "the grader received an unreadable message from rank 0"


def test_memory_of_processes_that_a_rank_starts_counts():
    """No single process is large."""
    launched = alone(
        """
        import os, time
        def go(comm):
            for _ in range(4):
                if os.fork() == 0:
                    block = b"x" * (200 << 20)
                    time.sleep(1000)
            time.sleep(1000)
        """,
        limits=Limits(memory_num_bytes=500 * MIB, case_s=60),
    )
    assert launched.failure is not None
    assert launched.failure.verdict is Verdict.MEMORY_LIMIT_EXCEEDED
    assert "the limit is 500 MiB" in launched.failure.message


def test_memory_that_processes_share_counts_once():
    """A rank with much data may start processes that only read it."""
    launched = alone(
        """
        import os, time
        def go(comm):
            block = b"x" * (300 << 20)
            children = []
            for _ in range(4):
                children.append(os.fork())
                if children[-1] == 0:
                    time.sleep(2)
                    os._exit(0)
            for child in children:
                os.waitpid(child, 0)
            return 7
        """,
        limits=Limits(memory_num_bytes=600 * MIB, case_s=60),
    )
    assert launched.failure is None, launched.failure
    assert values(launched) == [7.0]


def test_a_fork_server_that_is_killed_is_told_apart():
    """It is no mark for the student: a person is asked to look. Nothing of the run stays."""
    source = """
        import os, time
        def go(comm):
            if os.fork() == 0:
                os.setsid()
                os.chdir("/")
            time.sleep(1000)
        """
    server = ForkserverClient()
    over = threading.Event()
    killer = threading.Thread(target=_kill_each, args=(server, over))
    killer.start()
    try:
        with (
            server,
            pytest.raises(GraderError, match=r"lost twice in a row: .*Look at this sub"),
        ):
            alone(source, server=server, limits=Limits(case_s=60))
    finally:
        over.set()
        killer.join()
    mark = f"GRADER_FORK_SERVER={server._mark}".encode()
    assert [entry for entry in _processes() if mark in _read(entry / "environ")] == []
    # The next grading has a forkserver of its own.
    assert values(alone("def go(comm): return 7")) == [7.0]


def _kill_each(server, over) -> None:
    """Kill every forkserver as soon as its rank has started a process."""
    while not over.wait(0.01):
        forkserver = server._forkserver
        if forkserver is not None and len(descendants(forkserver.process.pid)) >= 2:
            forkserver.process.kill()


def _processes():
    return [entry for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""

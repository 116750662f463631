"""What a student is told beside an exception, where more is known than it says."""

import pytest

from grader.judge.explanation.crash_hints import Crash, crash_hint, started_as

from ..build import Run

NOTHING = Run(2).trace()


@pytest.mark.parametrize(
    ("crash", "hint"),
    [
        (
            Crash(0, "No module named 'torchvision'"),
            "torchvision's datasets are not available here: take the images from images.py",
        ),
        (
            Crash(0, "module 'torchvision.datasets' has no attribute 'MNIST'"),
            "torchvision's datasets are not available here: take the images from images.py",
        ),
        (
            Crash(0, "No module named 'torchvision.models'"),
            "the part must work without it: remove the lines that need it",
        ),
        (
            Crash(0, "No module named 'my_utils.ring'"),
            "no such file was handed in, and no such package is installed; if it is yours, "
            "hand in my_utils.py",
        ),
        (
            Crash(0, "MPI_ERR_OTHER: known error not in list", called="mpi4py.MPI.Init"),
            "an import already initialised MPI: the first `from mpi4py import MPI` of all "
            "files does that; set mpi4py.rc.initialize = False above it",
        ),
        (
            Crash(0, "*** The MPI_Barrier() function was called before MPI_INIT was invoked."),
            "call MPI.Init() before any other MPI call",
        ),
        (
            Crash(0, "*** The MPI_Send() function was called after MPI_FINALIZE was invoked."),
            "no MPI call works after MPI.Finalize()",
        ),
        (
            Crash(0, "list index out of range", source="n = int(sys.argv[1])"),
            "the file is imported here, so there are no arguments: read them only below "
            '`if __name__ == "__main__":`',
        ),
        (
            Crash(0, "'RANK'", source="os.environ['RANK']", command="python a.py --rank 0"),
            "the program is started as `python a.py --rank 0`",
        ),
        (
            Crash(0, "tcp:// rendezvous: port number missing", command="python a.py --rank 0"),
            "init_process_group needs rank, world_size, and on every rank the same address and "
            "port of rank 0, as in init_method='tcp://ADDRESS:29500'; the program is "
            "started as `python a.py --rank 0`",
        ),
        (
            Crash(0, "[Errno 2] No such file or directory: 'a.npy'", is_apart=True),
            "each rank has a private folder; send data in messages, not in files",
        ),
        (
            Crash(0, "[Errno 1] Operation not permitted", is_apart=True),
            "ranks share only MPI or torch.distributed: no other socket, file, file lock or "
            "program; each rank has files in its own folder only",
        ),
        (
            Crash(0, "[Errno 1] Operation not permitted: '/opt/venv/bin/python'", is_apart=True),
            "no other program can be started here. Start multiprocessing with the method 'fork'; "
            "share memory as torch's tensors or multiprocessing.Array",
        ),
        (
            Crash(0, "[Errno 13] Permission denied: '/proc/self/status'", is_apart=True),
            "ranks cannot read /proc and /sys, which show what other processes do; use "
            "os.cpu_count(), resource.getrusage() and the clocks of time",
        ),
        (
            Crash(0, "[Errno 13] Permission denied: '/sys/fs/cgroup'", is_apart=True),
            "ranks cannot read /proc and /sys, which show what other processes do; use "
            "os.cpu_count(), resource.getrusage() and the clocks of time",
        ),
        (
            Crash(0, "Load averages are unobtainable", is_apart=True),
            "ranks cannot read /proc and /sys, which show what other processes do; use "
            "os.cpu_count(), resource.getrusage() and the clocks of time",
        ),
        (
            Crash(0, "[Errno 13] Permission denied: '/dev/shm/mine'", is_apart=True),
            "ranks cannot use /dev/shm; multiprocessing finds shared memory by itself",
        ),
        (
            Crash(0, "access permission denied", is_apart=True),
            "files cannot be locked here, but a database in a file needs that: open it as "
            "sqlite3.connect('file:NAME?nolock=1', uri=True), or keep it in memory (':memory:')",
        ),
        (Crash(0, "list index out of range", source="n = x[1]"), ""),
        # A file that is imported is not started by a command line.
        (Crash(0, "'RANK'", source="os.environ['RANK']"), ""),
        (Crash(0, "tcp:// rendezvous: port number missing"), ""),
        (Crash(0, "MPI_ERR_OTHER: known error", called="mpi4py.MPI.Comm.Send"), ""),
        # Ranks of torch, and of a program that initialises MPI itself, have a folder in common.
        (Crash(0, "[Errno 2] No such file or directory: 'a.npy'"), ""),
        (Crash(0, "[Errno 13] Permission denied: '/dev/shm/x'"), ""),
        (Crash(0, "[Errno 13] Permission denied: '/proc/meminfo'"), ""),
        (Crash(7, "Pair is not connected"), ""),
        (Crash(7, "MPI_ERR_TRUNCATE: message truncated"), ""),
    ],
)
def test_each_cause_has_its_own_clause(crash, hint):
    """And what is no such cause has none."""
    assert crash_hint(crash, NOTHING) == hint


@pytest.mark.parametrize(
    ("file", "hint"),
    [
        ("/opt/ranks/rank/mpi_shim.py", "an import already initialised MPI: "),
        (
            "/x/submission/main.py",
            ("MPI was already initialised at main.py:10; it can be initialised only once"),
        ),
    ],
)
def test_a_second_init_is_told_with_what_was_the_first(file, hint):
    """An import of mpi4py, or a call of the student's own."""
    run = Run(1)
    run.call(0, "Init", file=file)
    run.call(0, "Init", error=16)
    crash = Crash(0, "MPI_ERR_OTHER: known error not in list", called="mpi4py.MPI.Init")
    assert crash_hint(crash, run.trace()).startswith(hint)


def test_a_message_to_oneself_is_named_with_its_call():
    """Gloo has no connection of a rank with itself, and says only that."""
    run = Run(2)
    run.isend(1, 0, function="isend")
    run.isend(1, 1, function="isend")
    crash = Crash(1, "[enforce fail at pair.cc:801] state_ >= CONNECTED. Pair is not connected")
    assert crash_hint(crash, run.trace()) == (
        "rank 1 calls isend(dst=1, tag=0) at ring.py:20, but with gloo no rank can send a message "
        "to itself: copy the tensor instead"
    )


def test_a_lost_connection_to_another_rank_is_not_taken_for_that():
    """Gloo says the same when the other one has gone."""
    run = Run(2)
    run.isend(1, 0, function="isend")
    assert crash_hint(Crash(1, "Pair is not connected"), run.trace()) == ""


@pytest.mark.parametrize("words", ["MPI_ERR_TRUNCATE", "MPI_ERR_IN_STATUS"])
def test_a_message_longer_than_its_buffer_is_told_with_both_sizes(words):
    """By MPI's own words for one receive and for one of several."""
    run = Run(2)
    run.send(0, 1, num_elements=13)
    run.change(1, run.irecv(1, 0, 0), error=15)
    assert "sends it 104 bytes" in crash_hint(Crash(1, f"{words}: ..."), run.trace())


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("python main.py", "the program is started without arguments: `python main.py`"),
        ("python main.py --rank 0", "the program is started as `python main.py --rank 0`"),
    ],
)
def test_what_a_program_is_started_with_is_told(command, told):
    """So that a student sees what it must not require."""
    assert started_as(command) == told

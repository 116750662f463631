"""What a student is told beside an exception, where more is known than it says."""

import pytest

from grader.judge.explanation.crash_hints import Crash, crash_hint, size_mismatch, started_as
from grader.trace.calls import ANY_SOURCE, ANY_TAG

from ..build import Run

NOTHING = Run(2).trace()


@pytest.mark.parametrize(
    ("crash", "hint"),
    [
        (
            Crash(0, "No module named 'torchvision'"),
            "torchvision's datasets are not available here: use the images from images.py",
        ),
        (
            Crash(0, "module 'torchvision.datasets' has no attribute 'MNIST'"),
            "torchvision's datasets are not available here: use the images from images.py",
        ),
        (
            Crash(0, "No module named 'torchvision.models'"),
            "this part must work without torchvision: remove the lines that need it",
        ),
        (
            Crash(0, "No module named 'my_utils.ring'"),
            "no such file was handed in, and no such package is installed; if the module is "
            "yours, hand in my_utils.py",
        ),
        (
            Crash(0, "MPI_ERR_OTHER: known error not in list", called="mpi4py.MPI.Init"),
            "an import already initialised MPI: the first `from mpi4py import MPI` in any "
            "file does that; set mpi4py.rc.initialize = False before it",
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
            "the grader imports this file without arguments: read arguments only below "
            '`if __name__ == "__main__":`',
        ),
        (
            Crash(0, "'RANK'", source="os.environ['RANK']", command="python a.py --rank 0"),
            "the grader starts the program as `python a.py --rank 0`",
        ),
        (
            Crash(0, "tcp:// rendezvous: port number missing", command="python a.py --rank 0"),
            "init_process_group needs rank, world_size, and the address and port of rank 0 (the "
            "same on every rank), as in init_method='tcp://ADDRESS:29500'; the grader starts the "
            "program as `python a.py --rank 0`",
        ),
        (
            Crash(0, "No rendezvous handler for ://", command="python a.py --master-ip 127.0.0.2"),
            "init_process_group needs rank, world_size, and the address and port of rank 0 (the "
            "same on every rank), as in init_method='tcp://ADDRESS:29500'; the grader starts the "
            "program as `python a.py --master-ip 127.0.0.2`",
        ),
        (
            Crash(
                0,
                "[Errno 2] No such file or directory: 'out/a/log.csv'",
                source="open('out/a/log.csv', 'w')",
                is_apart=True,
            ),
            "create the folder first: os.makedirs('out/a', exist_ok=True)",
        ),
        *(
            (
                Crash(0, "[Errno 2] No such file or directory: 'd/a.npy'", source=source),
                "",
            )
            for source in ("x = np.load(paths['x'])", "np.load(saved_path('a'))", "open(n['w'])")
        ),
        (
            Crash(0, "Parent directory out does not exist.", source="torch.save(net, 'out/net')"),
            "create the folder first: os.makedirs('out', exist_ok=True)",
        ),
        *(
            (
                Crash(0, "[Errno 2] No such file or directory: 'out/log'", source=source),
                "create the folder first: os.makedirs('out', exist_ok=True)",
            )
            for source in (
                "Path('out/log').open('w')",
                "open(path, mode='ab')",
                "save(a, 'out/log')",
                "save_image(a, 'out/log')",
            )
        ),
        (
            Crash(
                0,
                "[Errno 2] No such file or directory: 'out/a.npy'",
                source="np.load('out/a.npy')",
                is_apart=True,
            ),
            "no rank can see another rank's files or shared memory; send data in messages",
        ),
        (
            Crash(0, "[Errno 2] No such file or directory: 'a.npy'", is_apart=True),
            "no rank can see another rank's files or shared memory; send data in messages",
        ),
        (
            Crash(0, "[Errno 1] Operation not permitted", is_apart=True),
            "ranks can communicate only through MPI or torch.distributed, not through other "
            "sockets, files, file locks, or programs. Each rank can use files only in its own "
            "folder",
        ),
        (
            Crash(0, "[Errno 1] Operation not permitted: '/opt/venv/bin/python'", is_apart=True),
            "your code cannot start other programs here. Use multiprocessing's start method "
            "'fork'; "
            "share memory as torch tensors or multiprocessing.Array",
        ),
        (
            Crash(0, "[Errno 13] Permission denied: '/dev/shm/mine'", is_apart=True),
            "ranks cannot use /dev/shm: send data to other ranks in messages. Only processes that "
            "a rank starts share its memory, through multiprocessing.Array or torch "
            "tensors",
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
        "rank 1 called isend(dst=1, tag=0) at ring.py:20, but with gloo no rank can send a message "
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
        ("python main.py", "the grader starts the program without arguments: `python main.py`"),
        ("python main.py --rank 0", "the grader starts the program as `python main.py --rank 0`"),
    ],
)
def test_what_a_program_is_started_with_is_told(command, told):
    """So that a student sees what it must not require."""
    assert started_as(command) == told


TRUNCATE = 15


def fail(run: Run, rank: int, sequence: int, num_elements: int, item_num_bytes: int = 8) -> None:
    """Note that a receive was too small for its message."""
    num_bytes = num_elements * item_num_bytes
    run.change(rank, sequence, error=TRUNCATE, num_elements=num_elements, num_bytes=num_bytes)


def test_both_sizes_and_both_places_are_named():
    """A shorter buffer."""
    run = Run(2)
    run.send(0, 1, tag=3, num_elements=13)
    fail(run, 1, run.irecv(1, 0, tag=3), 10)
    assert size_mismatch(run.trace(), 1) == (
        "rank 1's Irecv(source=0, tag=3) at ring.py:10 has a buffer of 80 bytes (10 elements of 8 "
        "bytes), but rank 0 sends it 104 bytes (13 elements of 8 bytes) at ring.py:10: make the "
        "buffer as long as the message"
    )


def test_a_buffer_of_another_dtype_is_told_as_that():
    """As many elements, and yet half of the bytes."""
    run = Run(2)
    run.isend(0, 1, tag=3, num_elements=13)
    fail(run, 1, run.irecv(1, 0, tag=3), 13, item_num_bytes=4)
    told = size_mismatch(run.trace(), 1)
    assert "52 bytes (13 elements of 4 bytes)" in told
    assert told.endswith("give both arrays the same dtype")


def test_of_several_requests_it_is_the_one_that_failed():
    """The message is what receives of the same source and tag have left for it."""
    run = Run(2)
    for num_elements, tag in ((1, 0), (2, 1), (3, 0), (4, 0)):
        run.isend(0, 1, tag=tag, num_elements=num_elements)
    run.recv(1, 0, tag=0)
    run.irecv(1, 0, tag=1)
    fail(run, 1, run.irecv(1, 0, tag=0), 2)
    told = size_mismatch(run.trace(), 1)
    assert "at ring.py:30 has a buffer of 16 bytes" in told
    assert "rank 0 sends it 24 bytes (3 elements of 8 bytes) at ring.py:30" in told


def test_a_receive_from_anybody_is_told_where_all_messages_are_as_long():
    """Whichever it was."""
    run = Run(3)
    run.isend(0, 2, num_elements=5)
    run.isend(1, 2, num_elements=5)
    fail(run, 2, run.irecv(2, ANY_SOURCE, ANY_TAG), 4)
    assert "sends it 40 bytes" in size_mismatch(run.trace(), 2)


def test_any_tag_of_one_sender_takes_its_oldest_message():
    """Messages of one sender do not overtake each other."""
    run = Run(2)
    for num_elements in (1, 6, 7):
        run.isend(0, 1, tag=num_elements, num_elements=num_elements)
    run.recv(1, 0, tag=1)
    fail(run, 1, run.irecv(1, 0, ANY_TAG), 4)
    assert "sends it 48 bytes" in size_mismatch(run.trace(), 1)


def test_an_exchange_that_fails_on_both_sides_is_told():
    """The send of the other one is a half of the call that has failed there."""
    run = Run(2)
    run.isend(0, 1, num_elements=13, function="Sendrecv", error=TRUNCATE)
    fail(run, 1, run.irecv(1, 0, ANY_TAG, function="Sendrecv"), 10)
    assert "rank 0 sends it 104 bytes" in size_mismatch(run.trace(), 1)


def test_of_a_collective_of_equal_sizes_no_wrong_size_is_told():
    """The count of a Gather is what a rank sends, not what the root has room for."""
    run = Run(2)
    for rank in range(2):
        run.call(rank, "Gather", peer=0, num_elements=7, num_bytes=56, error=TRUNCATE * (1 - rank))
    assert size_mismatch(run.trace(), 0) == (
        "in rank 0's Gather(root=0) at ring.py:10, the ranks' arrays differ in size"
    )


def test_what_is_not_certain_is_not_told():
    """Two senders, two lengths: which message it was nobody knows."""
    run = Run(3)
    run.isend(0, 2, num_elements=5)
    run.isend(1, 2, num_elements=6)
    fail(run, 2, run.irecv(2, ANY_SOURCE, ANY_TAG), 4)
    assert size_mismatch(run.trace(), 2) == (
        "rank 2's Irecv(source=ANY_SOURCE, tag=ANY_TAG) at ring.py:10 has a buffer of 32 bytes (4 "
        "elements of 8 bytes), but the message is longer"
    )


def test_a_pickle_that_is_too_long_for_irecv_is_told_as_that():
    """Without a buffer of its own mpi4py's irecv takes 32 KiB."""
    run = Run(2)
    run.isend(0, 1, num_elements=10**6, num_bytes=10**6, pickled=True)
    fail(run, 1, run.irecv(1, 0, 0), 32768, item_num_bytes=1)
    assert size_mismatch(run.trace(), 1).endswith(
        "irecv without a buffer holds at most 32768 bytes; use Irecv with an array"
    )


def test_of_collectives_with_sizes_of_their_own_none_is_blamed():
    """A root scatters more than a leaf receives: that the sizes differ says nothing."""
    for name in ("Scatter", "Iscatter", "Gatherv", "Alltoallw", "Reduce_scatter"):
        run = Run(2)
        run.call(0, name, num_elements=8, num_bytes=64)
        failed = run.call(1, name, num_elements=4, num_bytes=32)
        run.change(1, failed, error=TRUNCATE)
        assert size_mismatch(run.trace(), 1) == (
            f"in rank 1's {name} at ring.py:10, the ranks' arrays differ in size"
        )


def test_of_torch_the_call_that_never_came_back_is_meant():
    """Its process ends inside of it, and no error is recorded."""
    run = Run(2)
    run.send(1, 0, num_elements=4, function="send")
    run.enter_recv(0, 1, 0, function="recv", num_elements=2, num_bytes=16)
    assert "sends it 32 bytes" in size_mismatch(run.trace(), 0)


@pytest.mark.parametrize("rank", [0, 1, 7])
def test_without_such_a_call_nothing_is_told(rank):
    """Nor of a rank that does not exist."""
    run = Run(2)
    run.send(0, 1)
    run.enter_recv(1, 0)
    assert size_mismatch(run.trace(), rank) == ""

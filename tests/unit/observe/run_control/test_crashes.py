"""How runs end by an exception or a crash: what a student is told, and what is left out."""

import pytest
from launching import case, run

from grader.model.report import RunFailure
from grader.observe.run_control.forkserver_client import ForkserverClient


def diagnose(source, **options) -> RunFailure:
    launched = run(source, **options)
    assert launched.failure is not None, launched
    return launched.failure


def test_argparse_is_quoted_with_how_the_program_was_started():
    """Its own line would stand in the output only, below the usage."""
    failure = diagnose(
        """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--rank", required=True)
        parser.parse_args()
        """,
        cases=(case(probe="bare_script"),),
    )
    assert failure.message == (
        "rank 0: argparse stopped the program at work.py:5: the following arguments are "
        "required: --rank; the grader starts the program without arguments: `python work.py`"
    )
    assert "inside argparse" in failure.detail
    assert "argparse.py" not in failure.detail


@pytest.mark.parametrize("standalone", [False, True])
def test_ranks_with_folders_of_their_own_are_told_of_them(standalone):
    """Also where the program initialises MPI itself."""
    failure = diagnose(
        "from mpi4py import MPI\ndef go(comm): open('of-the-other.npy')",
        backend="mpi-student" if standalone else "mpi",
        standalone=standalone,
    )
    assert "opens 'of-the-other.npy', which does not exist. The" in failure.message
    assert "no rank can see another rank's files" in failure.message


def test_an_unknown_flag_is_told_with_the_flags_that_are_given():
    """A student who calls it --nodes sees what it is called here."""
    failure = diagnose(
        "import argparse\nargparse.ArgumentParser().parse_args()", cases=(case(probe="script"),)
    )
    assert (
        "unrecognized arguments: --number 3; the grader starts the program as `python work.py --num"
        in (failure.message)
    )


def test_a_syntax_error_shows_the_line_and_a_caret():
    """As Python itself does."""
    failure = diagnose("def go(comm)\n    pass\n")
    assert failure.detail.splitlines()[:4] == [
        '  File "work.py", line 1',
        "    def go(comm)",
        "                ^",
        "SyntaxError: expected ':'",
    ]


def test_only_what_was_printed_in_the_failing_case_is_shown():
    """Output of the cases before is about something else."""
    source = """
        calls = []
        def go(comm):
            calls.append(1)
            print(f"case {len(calls)}")
            if len(calls) == 2:
                raise ValueError
        """
    failure = diagnose(source, cases=(case("a"), case("b")))
    assert "last output of rank 0:\ncase 2" in failure.detail
    assert "case 1" not in failure.detail


def test_what_the_files_given_beside_it_print_is_not_shown():
    """Nor where they lie."""
    failure = diagnose(
        """
        import given
        def go(comm):
            given.say("by the course")
            print("by the student, beside", given.__file__)
            given.fail()
        """,
        support={"given.py": "def say(text): print(text)\ndef fail(): raise ValueError(__file__)"},
    )
    assert "by the course" not in failure.detail
    assert "last output of rank 0:\nby the student, beside given.py" in failure.detail
    assert 'File "given.py", line 2, in fail' in failure.detail
    assert "rank 0 raised ValueError: given.py at work.py:6" in failure.message
    assert "grader-" not in failure.message + failure.detail


def test_mpi_that_an_import_has_initialised_is_told():
    """MPI itself says `known error not in list`."""
    failure = diagnose(
        """
        from mpi4py import MPI
        import mpi4py
        mpi4py.rc.initialize = False
        def go(comm):
            MPI.Init()
        """,
        standalone=True,
        backend="mpi-student",
    )
    assert "an import already initialised MPI" in failure.message


def test_mpi_that_is_not_up_is_told():
    """What MPI prints is quoted, and what to do about it."""
    failure = diagnose(
        """
        import mpi4py
        mpi4py.rc.initialize = False
        from mpi4py import MPI
        def go(comm):
            MPI.COMM_WORLD.Barrier()
        """,
        standalone=True,
        backend="mpi-student",
    )
    assert "MPI says: The MPI_Barrier() function was called before MPI_INIT was" in failure.message
    assert failure.message.endswith("; call MPI.Init() before any other MPI call")


def test_of_several_requests_the_one_with_the_short_buffer_is_told():
    """MPI itself says `error code in status`."""
    failure = diagnose(
        """
        import numpy as np
        from mpi4py import MPI
        def go(comm):
            other = 1 - comm.rank
            short, whole = np.empty(13, np.float32), np.empty(5)
            requests = [comm.Irecv(whole, other, 1), comm.Irecv(short, other, 2)]
            requests += [comm.Isend(np.ones(5), other, 1), comm.Isend(np.ones(13), other, 2)]
            MPI.Request.Waitall(requests)
        """
    )
    assert (
        "rank 0's Irecv(source=1, tag=2) at work.py:7 has a buffer of 52 bytes (13 elements of 4 "
        "bytes), but rank 1 sends it 104 bytes (13 elements of 8 bytes) at work.py:8: give both "
        "arrays the same dtype"
    ) in failure.message


@pytest.fixture(scope="module")
def torch_server():
    with ForkserverClient(["torch"]) as server:
        yield server


def test_gloo_cannot_send_to_oneself(torch_server):
    """Gloo itself says `Pair is not connected`, and torch's frames say nothing at all."""
    failure = diagnose(
        """
        import torch, torch.distributed as dist
        def go(comm):
            dist.isend(torch.zeros(4), dst=dist.get_rank()).wait()
        """,
        backend="torch",
        server=torch_server,
    )
    assert failure.message.endswith(
        "rank 0 called isend(dst=0, tag=0) at work.py:4, but with gloo no rank can send a "
        "message to itself: copy the tensor instead"
    )
    assert "site-packages" not in failure.detail
    assert "inside torch" in failure.detail


def test_a_tensor_that_is_too_short_is_told_though_gloo_ends_the_process(torch_server):
    """Its last words are C++."""
    failure = diagnose(
        """
        import torch, torch.distributed as dist
        def go(comm):
            if dist.get_rank() == 1:
                dist.send(torch.zeros(4), dst=0)
            else:
                dist.recv(torch.zeros(2), src=1)
        """,
        backend="torch",
        server=torch_server,
    )
    assert "rank 0's recv(src=1, tag=0) at work.py:7 has a buffer of 8 bytes" in failure.message
    assert "rank 1 sends it 16 bytes (4 elements of 4 bytes) at work.py:5" in failure.message

"""One launch against submissions that end in every way there is."""

import contextlib
import os
import time
from pathlib import Path

import pytest
from launching import case, observe, run, values

from grader.judge.explanation.launch_result import explain
from grader.model.report import MessageFault, Outcome, RunFailure, Verdict
from grader.observe.run_control import watch
from grader.observe.run_control.users import run_uids
from grader.recording.launch_plan import Limits
from grader.trace.packed_records import RECORD


def diagnose(source, **options) -> RunFailure:
    """Return why a run ended; where the grader gave it up on a busy machine, run it again."""
    for _ in range(10):
        launched = run(source, **options)
        assert launched.failure is not None, launched
        if launched.failure.verdict is not Verdict.JUDGE_ERROR:
            return launched.failure
    pytest.fail(f"the grader itself failed ten times: {launched.failure.message}")


def test_every_rank_answers_every_case():
    """Two cases on three ranks give two outcomes with one value a rank."""
    launched = run(
        "def go(comm): return comm.allreduce(comm.rank + 1)",
        ranks=3,
        cases=(case("first", 3), case("second", 3)),
    )
    assert launched.failure is None
    assert values(launched, 0) == values(launched, 1) == [6.0, 6.0, 6.0]


def test_the_trace_holds_only_the_phase():
    """What the harness does around the call is not in the outcome's trace."""
    launched = run("def go(comm): comm.Barrier()")
    outcome = launched.outcomes[0]
    assert isinstance(outcome, Outcome)
    for rank in outcome.trace.ranks:
        assert [call.function for call in rank.calls] == ["Barrier"]
        assert [(call.file, call.line) for call in rank.calls] != [("", 0)]


def test_calls_of_many_cases_are_not_all_kept():
    """A case that makes too many proves nothing; one that makes few is judged before and after."""
    launched = run(
        """
        calls = [2, 200, 2]
        def go(comm):
            for _ in range(calls.pop(0)):
                comm.Barrier()
        """,
        cases=(case("few"), case("many"), case("few again")),
        most_trace_num_bytes=100 * RECORD.itemsize,
    )
    few, many, few_again = launched.outcomes
    assert isinstance(few, Outcome) and few.trace.num_calls == 4
    assert isinstance(few_again, Outcome) and few_again.trace.num_calls == 4
    assert isinstance(many, RunFailure) and many.verdict is Verdict.NOT_PROVEN
    assert many.message.startswith(
        "rank 0 made at least 200 communication calls here; together with earlier calls"
    )
    assert launched.failure is None


def test_a_script_runs_as_main_and_its_globals_are_read():
    """The second call style: `python file arguments`, globals afterwards."""
    launched = run(
        """
        import sys
        if __name__ == "__main__":
            answer = int(sys.argv[2]) * 2
        """,
        cases=(case(probe="script"),),
    )
    assert values(launched) == [6.0, 6.0]


def test_the_command_line_is_not_the_students():
    """Nothing of how a rank was started is in sys.argv."""
    launched = run("import sys\ndef go(comm): return len(sys.argv) + len(sys.argv[0])")
    assert values(launched) == [1.0, 1.0]


def test_an_exception_names_rank_file_and_line():
    """One rank raises while the other waits for it: the run ends with the one's traceback."""
    failure = diagnose(
        """
        def go(comm):
            if comm.rank == 1:
                print("about to fail")
                return [][3]
            comm.Barrier()
        """
    )
    assert failure.verdict is Verdict.RUN_TIME_ERROR
    assert failure.message == "rank 1 raised IndexError: list index out of range at work.py:5"
    assert 'File "work.py", line 5, in go' in failure.detail
    assert "last output of rank 1:\nabout to fail" in failure.detail


@pytest.mark.parametrize("backend", ["mpi", "mpi-student", "mpi-script", "torch", "none"])
def test_a_missing_package_that_nothing_uses_is_remarked_once(backend):
    """In whatever world the ranks are, not by each rank and case."""
    launched = run(
        "import seaborn_of_mine\ndef go(comm): return 3",
        backend=backend,
        cases=(case("first"), case("second")),
    )
    assert launched.failure is None and len(launched.outcomes) == 2
    (remark,) = launched.remarks
    assert remark.text == (
        "work.py:1 imports seaborn_of_mine, which is not installed here; "
        "this costs no points unless a line uses it"
    )


@pytest.mark.parametrize("backend", ["torch-script", "mpi-script"])
def test_a_missing_package_of_a_whole_program_is_remarked(backend):
    """Which is run as `python work.py`."""
    launched = run(
        "from seaborn_of_mine.plots import curve\nanswer = 3",
        backend=backend,
        cases=(case(probe="bare_script"),),
    )
    assert launched.failure is None
    assert len(launched.remarks) == 1


def test_a_standalone_program_may_import_what_is_missing():
    """One that starts MPI itself."""
    launched = run(
        """
        import seaborn_of_mine
        from mpi4py import MPI
        answer = 3
        """,
        standalone=True,
        cases=(case(probe="bare_script"),),
    )
    assert launched.failure is None
    assert len(launched.remarks) == 1


@pytest.mark.parametrize("backend", ["mpi-student", "torch", "none"])
def test_a_breakpoint_does_nothing_and_is_remarked(backend):
    """Once, however often it is passed; what debuggers print is nowhere."""
    plan, observed = observe(
        """
        def go(comm):
            for number in range(3):
                breakpoint()
            return number
        """,
        backend=backend,
    )
    launched = explain(plan, observed)
    assert values(launched) == [2.0, 2.0]
    (remark,) = launched.remarks
    assert remark.text == "work.py:4 calls breakpoint(), which does nothing here"
    assert observed.output_tails == ("", "")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("import pdb; pdb.set_trace()", "starts the debugger pdb, but there is no keyboard"),
        ("from pdb import set_trace; set_trace()", "starts the debugger pdb, but there"),
        (
            "input('How many? ')",
            "calls input(), but there is no keyboard here; write the value into",
        ),
    ],
)
def test_what_waits_for_somebody_who_types_ends_its_case(line, message):
    """With its line, and in one sentence."""
    launched = run(f"def go(comm):\n    {line}\n    return 3")
    assert launched.failure is not None
    assert launched.failure.message.startswith(f"rank 0: work.py:2 {message}")


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_missing_file_is_told_with_what_is_there(ranks):
    """Of a relative path, which is meant below the working folder."""
    failure = diagnose(
        """
        def go(comm):
            open("mine.txt", "w").close()
            open("data/train.csv")
        """,
        ranks=ranks,
        backend="none" if ranks == 1 else "mpi",
    )
    assert failure.message.startswith(
        "rank 0: work.py:4 opens 'data/train.csv', which does not exist. The working folder "
        "contains "
    )
    assert " contains mine.txt; your submitted files" in failure.message


@pytest.mark.parametrize(
    ("ranks", "backend", "is_other_user"),
    [(2, "mpi", False), (2, "torch", False), (2, "torch", True), (1, "none", True)],
)
def test_folders_that_were_handed_in_can_be_written_to(ranks, backend, is_other_user):
    """Each rank has its own; one below a script's folder is there from both."""
    if is_other_user and os.getuid() != 0:
        pytest.skip("runs as another user")
    modules = ("torch",) if backend == "torch" else ()
    launched = run(
        """
        import os
        from pathlib import Path
        def go(comm):
            for folder in ("output", "part1", "part1/output", "empty/inner"):
                assert not os.listdir(folder) or folder == "part1", os.listdir(folder)
                Path(folder, "loss.txt").write_text("3")
            return 3
        """,
        files={"part1/main.py": ""},
        folders=("empty/inner", "part1/output"),
        ranks=ranks,
        backend=backend,
        cases=(case(ranks=ranks),),
        modules=modules,
        uid=next(run_uids()) if is_other_user else None,
    )
    assert launched.failure is None, launched.failure
    assert values(launched) == [3.0] * ranks


def test_a_case_that_misses_a_file_costs_no_other():
    """What is left goes on in a fresh launch: see the suite's continuation."""
    launched = run(
        """
        calls = []
        def go(comm):
            calls.append(1)
            if len(calls) == 2:
                input()
            return 3
        """,
        cases=(case("first"), case("second"), case("third")),
    )
    assert len(launched.outcomes) == 1 and values(launched) == [3.0, 3.0]
    assert launched.failure is not None and "calls input()" in launched.failure.message


def test_a_file_of_ones_own_may_be_called_like_a_missing_package():
    """In whichever folder it lies."""
    launched = run(
        "import pandas\ndef go(comm): return pandas.read()",
        files={"tables/pandas.py": "def read(): return 7"},
    )
    assert values(launched) == [7.0, 7.0] and not launched.remarks


def test_remarks_are_no_way_to_say_anything():
    """What the line does not bear out is left out."""
    launched = run(
        """
        import sys
        frame = sys._getframe()
        while "remarks" not in frame.f_locals:
            frame = frame.f_back
        remarks = frame.f_locals["remarks"]
        for line in (-1, 0, 1, 99, True, "1"):
            remarks.add("import", "all is well", __file__, line)
            remarks.add("praise", "sys", __file__, line)
        remarks.add("import", "sys", "elsewhere.py", 1)
        def go(comm): return 3
        """
    )
    assert launched.failure is None and not launched.remarks


def test_the_lowest_raising_rank_speaks():
    """When all ranks raise, the message does not depend on who was first."""
    for _ in range(3):
        failure = diagnose("def go(comm): raise ValueError(f'rank {comm.rank}')", ranks=3)
        assert failure.message == "rank 0 raised ValueError: rank 0 at work.py:1"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def go(comm)\n    pass", r"work.py:1 is not valid Python 3.\d+: expected ':'"),
        ("if 1:\n\tx = 1\n        y = 2\n", r"work.py:3 is not valid Python 3.\d+: .*tabs"),
        (b"def go(comm): return '\xff'", r"work.py:\d+ is not valid Python 3.\d+: .*utf-8"),
        (
            "def went(comm): pass",
            r"work.py does not define go; it defines went; .* go\(comm\)",
        ),
        ("def go(): pass", r"rank 0 raised TypeError: go\(\) takes 0 .* requires go\(comm\)"),
        ("x = t'{1}'", r"work.py:1 uses syntax from Python 3.14 or newer \(a t-string\); the gr"),
        ("__import__('nowhere')", r"rank 0 raised ModuleNotFoundError: .*'nowhere' at work.py:1"),
        (
            "from my_utlis import go",
            r"rank 0: the graded code uses my_utlis \(imported at work.py:1\), which is not "
            "installed here; no such file .*hand in my_utlis.py",
        ),
        (
            "import pandas_x\ndef go(comm): return pandas_x.read()",
            r"rank 0: work.py:2 uses pandas_x \(imported at work.py:1\)",
        ),
        ("def go(comm): exit(0)", r"rank 0 called sys.exit\(0\) at work.py:1"),
        ("import sys\ndef go(comm): sys.exit(0)", r"rank 0 called sys.exit\(0\) at work.py:2"),
    ],
)
def test_source_that_cannot_be_called_is_told_apart(source, message):
    """Each kind of unusable file has its own sentence."""
    failure = diagnose(source)
    assert failure.verdict is Verdict.RUN_TIME_ERROR
    import re

    assert re.match(message, failure.message), failure.message


def test_not_implemented_is_not_attempted():
    """What a template raises is no error."""
    failure = diagnose("def go(comm): raise NotImplementedError('go is still to be written')")
    assert failure.verdict is Verdict.NOT_ATTEMPTED
    assert "go is still to be written" in failure.message


def test_an_exit_without_an_answer_is_not_a_pass():
    """os._exit(0) leaves no result behind, so it gains nothing."""
    failure = diagnose("import os\ndef go(comm): os._exit(0)")
    assert failure.verdict is Verdict.RUN_TIME_ERROR
    assert "produced no result" in failure.message


def test_an_abort_is_not_a_pass():
    """MPI_Abort(0) ends the job with status 0 and gains nothing."""
    failure = diagnose("def go(comm): comm.Abort(0)")
    assert failure.verdict is Verdict.RUN_TIME_ERROR


def test_a_crash_names_signal_and_line():
    """A segmentation fault is told with the Python line that led to it."""
    failure = diagnose(
        """
        import os, signal
        def go(comm):
            if comm.rank == 1:
                os.kill(os.getpid(), signal.SIGSEGV)
            comm.Barrier()
        """
    )
    assert failure.verdict is Verdict.RUN_TIME_ERROR
    assert failure.message.startswith("rank 1 produced no result: its process was killed by SIG")
    assert "work.py:5" in failure.message


def test_a_deadlock_is_explained_within_the_time_limit():
    """Every rank receives first: the answer comes from the trace, long before the limit."""
    failure = diagnose(
        """
        import numpy as np
        def go(comm):
            comm.Recv(np.empty(1), source=1 - comm.rank, tag=7)
        """,
        limits=Limits(case_s=60),
    )
    assert failure.verdict is Verdict.DEADLOCK
    assert "rank 0" in failure.message and "rank 1" in failure.message
    assert "work.py:4" in failure.message


def test_buffered_sends_deadlock_only_with_synchronous_sends():
    """Rendezvous mode finds what small messages hide."""
    source = """
        import numpy as np
        def go(comm):
            data, other = np.ones(3), np.empty(3)
            comm.Send(data, dest=1 - comm.rank)
            comm.Recv(other, source=1 - comm.rank)
            return other.sum()
        """
    launched = run(source, cases=(case("eager"), case("rendezvous", synchronous_sends=True)))
    assert values(launched) == [3.0, 3.0]
    assert launched.failure is not None
    assert launched.failure.verdict is Verdict.DEADLOCK


def test_a_message_is_altered_in_its_case_alone():
    """The order goes to one rank, for one case; the outcome tells whether it was carried out."""
    source = """
        import numpy as np
        def go(comm):
            data, other = np.ones(4), np.empty(4)
            for _ in range(2):
                comm.Send(data, dest=1 - comm.rank)
                comm.Recv(other, source=1 - comm.rank)
            return other.sum()
        """
    orders = (None, MessageFault(1, 1), MessageFault(1, 0), MessageFault(0, 2), None)
    cases = (case(str(i), message_fault=order) for i, order in enumerate(orders))
    launched = run(source, cases=tuple(cases))
    assert [values(launched, i) for i in range(5)] == [[4, 4], [5, 4], [4, 4], [4, 4], [4, 4]]
    assert [outcome.num_altered for outcome in launched.outcomes] == [0, 1, 1, 0, 0]


def test_an_endless_computation_is_a_time_limit_not_a_deadlock():
    """A rank that computes is alive; the message says where."""
    failure = diagnose(
        """
        def go(comm):
            while comm.rank == 1:
                pass
            comm.Barrier()
        """,
        limits=Limits(case_s=2),
    )
    assert failure.verdict is Verdict.TIME_LIMIT_EXCEEDED
    assert "rank 1 was still computing at work.py:" in failure.message


def test_a_rank_that_computes_for_long_is_told_of_while_it_does(monkeypatch):
    """Once a case and with its line, which is not taken for the one where the rank ends later."""
    monkeypatch.setattr(watch, "_SILENT_S", 0.3)
    told = []
    failure = diagnose(
        """
        import os, time
        def go(comm):
            until_s = time.monotonic() + 3
            while comm.rank == 1 and time.monotonic() < until_s: pass
            if comm.rank == 1:
                os._exit(3)
            comm.Barrier()
        """,
        on_silent=lambda rank, place: told.append((rank, place)),
    )
    assert told == [(1, ("work.py", 5))]
    assert failure.verdict is Verdict.RUN_TIME_ERROR
    assert "work.py" not in failure.message


def test_endless_polling_is_a_deadlock():
    """A rank that only repeats failing polls does not count as alive."""
    failure = diagnose(
        """
        def go(comm):
            while not comm.Iprobe(source=1 - comm.rank):
                pass
        """,
        limits=Limits(case_s=30),
    )
    assert failure.verdict is Verdict.DEADLOCK


def test_a_flood_of_output_ends_the_run():
    """Printing for ever is ended by size."""
    failure = diagnose("def go(comm):\n    while True: print('x' * 1000)")
    assert failure.verdict is Verdict.OUTPUT_LIMIT_EXCEEDED


def test_a_memory_hog_is_told_apart():
    """Asking for more memory than allowed is its own verdict."""
    failure = diagnose(
        "import numpy as np\ndef go(comm): return np.ones(1 << 30).sum()",
        limits=Limits(rank_memory_num_bytes=1 << 30),
    )
    assert failure.verdict is Verdict.MEMORY_LIMIT_EXCEEDED


def test_a_result_of_the_wrong_form_is_refused_with_a_sentence():
    """NaN is no number; the run goes on with the next case."""
    launched = run("def go(comm): return float('nan')", cases=(case("one"), case("two")))
    assert launched.failure is None
    for refused in launched.outcomes:
        assert isinstance(refused, RunFailure)
        assert refused.verdict is Verdict.WRONG_ANSWER
        assert "not a finite number" in refused.message


def test_the_submission_may_initialise_mpi_itself():
    """A standalone run: MPI.Init and MPI.Finalize are the student's."""
    source = """
        import mpi4py
        mpi4py.rc(initialize=False, finalize=False)
        from mpi4py import MPI
        def go(comm):
            MPI.Init()
            total = MPI.COMM_WORLD.allreduce(1)
            MPI.Finalize()
            return total
        """
    standalone = run(source, ranks=3, standalone=True, backend="mpi-student")
    shared = run(source, ranks=3, backend="mpi-student", cases=(case("a", 3), case("b", 3)))
    assert standalone.failure is None and shared.failure is None
    assert values(standalone) == values(shared, 0) == values(shared, 1) == [3.0, 3.0, 3.0]


def test_nothing_of_a_run_is_left():
    """A rank's daemon, its files and its shared memory are gone when the launch returns."""
    mark = f"# {os.getpid()} {time.monotonic_ns()}"
    launched = run(
        f"""
        {mark}
        import os, time
        def go(comm):
            open("left-behind", "w").write("x")
            told, tell = os.pipe()
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    os.write(tell, str(os.getpid()).encode())
                    time.sleep(1000)
                os._exit(0)
            return int(os.read(told, 20))
        """,
        ranks=1,
    )
    [daemon] = values(launched)
    for folder in Path("/dev/shm").glob("grader-*/submission"):
        with contextlib.suppress(OSError):
            assert mark not in (folder / "work.py").read_text()
    assert not Path(f"/proc/{daemon:.0f}").exists()


def test_a_script_finds_mpi_initialised_also_in_a_standalone_run():
    """Importing mpi4py.MPI initialises MPI, unless mpi4py.rc says not to."""
    source = """
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    rank, size = comm.Get_rank(), comm.Get_size()
    if __name__ == "__main__":
        assert MPI.Is_initialized() and not MPI.Is_finalized()
        answer = comm.allreduce(rank + 1)
    """
    standalone = run(
        source, ranks=3, standalone=True, backend="mpi-script", cases=(case("a", 3, "script"),)
    )
    shared = run(
        source,
        ranks=3,
        backend="mpi-script",
        cases=(case("a", 3, "script"), case("b", 3, "script")),
    )
    assert standalone.failure is None and shared.failure is None, (standalone, shared)
    assert values(standalone) == values(shared, 0) == values(shared, 1) == [6.0, 6.0, 6.0]


def test_ranks_do_not_share_their_random_numbers():
    """They are forked from one process, yet start as processes of their own do."""
    launched = run(
        """
        import random
        import numpy as np
        def go(comm):
            drawn = comm.allgather((random.random(), np.random.rand()))
            return len(set(drawn)) + len({number for pair in drawn for number in pair})
        """,
        ranks=3,
    )
    assert values(launched) == [9.0, 9.0, 9.0]


def test_a_poll_before_a_computation_is_no_deadlock():
    """Overlapping communication with work is what non-blocking calls are for."""
    launched = run(
        """
        import time
        import numpy as np
        def go(comm):
            box = np.zeros(1)
            if comm.rank == 0:
                request = comm.Irecv(box, 1)
                request.Test()
                time.sleep(1.5)
                comm.Send(box, 1)
                request.Wait()
            else:
                comm.Recv(box, 0)
                comm.Send(box, 0)
        """
    )
    assert launched.failure is None, launched.failure


@pytest.mark.parametrize(
    "is_other_user",
    [False, pytest.param(True, marks=pytest.mark.skipif(os.getuid() != 0, reason="root"))],
)
def test_a_submission_imports_from_its_own_folders(is_other_user):
    """By their names, or as a script that a program has put on its path where it was started."""
    launched = run(
        """
        import sys
        sys.path.append("../tools")
        from helpers.counting import two
        from three import three
        def go(comm): return two() + three()
        """,
        files={
            "helpers/counting.py": "def two(): return 2",
            "tools/three.py": "from helpers.counting import two\ndef three(): return two() + 1",
        },
        ranks=1,
        backend="none",
        cases=(case(ranks=1),),
        uid=next(run_uids()) if is_other_user else None,
    )
    assert launched.failure is None, launched.failure
    assert values(launched) == [5.0]


@pytest.mark.skipif(os.getuid() != 0, reason="runs as another user")
def test_a_run_of_another_user_cannot_outlive_itself_nor_leave_files():
    """Its processes may not signal whoever ends them, and what they wrote anywhere is removed."""
    uid = next(run_uids())
    left = [Path(f"/dev/shm/left-by-{uid}"), Path(f"/tmp/left-by-{uid}")]
    for _ in range(5):
        launched = run(
            f"""
            import os
            def go(comm):
                for path in {[str(path) for path in left]!r}:
                    open(path, "w").write("x")
                if os.fork() == 0:
                    os.setsid()
                    me = os.getpid()
                    while True:
                        for pid in range(me + 1, me + 60):
                            try:
                                os.kill(pid, 9)
                            except OSError:
                                pass
            """,
            ranks=1,
            backend="none",
            cases=(case(ranks=1),),
            uid=uid,
        )
        assert launched.failure is None, launched.failure
        assert not any(path.exists() for path in left)
        alive = [entry for entry in Path("/proc").iterdir() if _owner(entry) == uid]
        assert alive == []


def _owner(entry: Path) -> int:
    try:
        return entry.stat().st_uid if entry.name.isdigit() else -1
    except OSError:
        return -1


def test_more_ranks_than_there_are_users_are_refused_before_anything_starts():
    with pytest.raises(ValueError, match="at most 62 ranks, not 63; lower ranks= in the case"):
        run("def go(comm): return 1", ranks=63)

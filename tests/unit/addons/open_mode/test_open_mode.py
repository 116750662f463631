"""The suites in the open: pytest in every rank, and somebody who ends it when the ranks hang."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import zipfile
from pathlib import Path

import pytest
from polling import wait_for

ROOT = Path(__file__).resolve().parents[4]
REFERENCE = ROOT / "reference" / "mpi_sgd"
HANGS = ROOT / "tests/submissions/deadlock/mpi_sgd/ring_receives_from_the_wrong_side"
CHANGES_SEND = ROOT / "tests/submissions/wrong_answer/mpi_sgd/ring_send_mutated"
OUTCOME = re.compile(r"^(PASSED|FAILED|SKIPPED) .*?mpi_sgd/(\S+: .*|\S+)", re.MULTILINE)
TALKS = """
    def allreduce(send, recv, comm, op):
        for line in range(3):
            print(f"line {line} of {comm.rank}", flush=True)
        comm.Barrier()
        recv[...] = 0
"""


def opened(*arguments: str | Path, cwd: Path = ROOT):
    """Return what `grade open` says; fail when it leaves a folder behind."""
    command = [sys.executable, "-m", "grader", "open", *map(str, arguments)]
    return ended(command, cwd=cwd)


def ended(command, cwd: Path = ROOT):
    """Return what a command says; fail when it leaves a folder behind."""
    with tempfile.TemporaryDirectory() as temporary:
        started = start(command, cwd=cwd, temporary=temporary)
        out, error = started.communicate(timeout=300)
        assert folders_of(started) == [], out + error
        assert list(Path(temporary).iterdir()) == [], out + error
    return subprocess.CompletedProcess(command, started.returncode, out, error)


def start(command, *, cwd: Path, temporary: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        list(map(str, command)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": temporary},
    )


def folders_of(session: subprocess.Popen[str]) -> list[str]:
    """Return the folders in memory of an open session: others' sessions have others."""
    return list(map(str, Path("/dev/shm").glob(f"grader-open-{session.pid}-*")))


def write(folder: Path, source: str, name: str = "my_naive_allreduce.py") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(textwrap.dedent(source))
    return folder


def test_right_code_holds_and_what_needs_more_ranks_is_skipped():
    """Of one part, on as many ranks as there are."""
    done = opened(REFERENCE, "-n", "3", "--part", "ring_allreduce", "-k", "three or any_number")
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed, " in done.stdout and " failed" not in done.stdout
    assert (
        "SKIPPED [1] mpi_sgd/test_ring_allreduce.py: this check needs 4 ranks; run again with -n 4"
        in done.stdout
    )


def test_a_deadlock_ends_with_the_sentence_of_a_grading():
    """Instead of hanging until somebody loses patience."""
    done = opened(HANGS, "-n", "3", "-k", "three_processes")
    assert done.returncode == 1
    assert "✗ deadlock in test_three_processes" in done.stdout
    assert "rank 0 waits in Wait at my_ring_allreduce.py:15 for Irecv(source=1," in done.stdout
    assert "cycle 0 -> 1 -> 2 -> 0" in done.stdout
    assert '-k "not three_processes"' in done.stdout
    assert "prterun" not in done.stdout + done.stderr


def test_an_exception_that_the_others_wait_for_is_the_cause(tmp_path):
    """The rank that raised is told, with its line, and not those that hang because of it."""
    source = """
        def allreduce(send, recv, comm, op):
            if comm.rank == 1:
                print("about to fail")
                raise ValueError("too early")
            comm.Barrier()
        """
    done = opened(write(tmp_path, source), "-n", "3", "-k", "three_processes")
    assert done.returncode == 1
    assert "crash in test_three_processes" in done.stdout
    assert "rank 1 raised ValueError: too early at my_naive_allreduce.py:5" in (
        " ".join(done.stdout.split())
    )
    assert "last output of rank 1:\n  │ about to fail" in done.stdout


def test_slips_are_told_as_in_a_grading_but_a_breakpoint_works(tmp_path):
    """What is not installed stands in, folders can be written to, and a person may debug."""
    source = """
        import sys
        import not_installed
        def allreduce(send, recv, comm, op):
            assert sys.breakpointhook.__module__ != "grader.rank.remarks"
            with open("output/run/1/loss.txt", "w") as losses:
                losses.write("3")
            not_installed.plot()
        """
    (tmp_path / "output/run/1").mkdir(parents=True)
    done = opened(write(tmp_path, source), "-n", "3", "-k", "three_processes")
    assert (
        "rank 0: my_naive_allreduce.py:8 uses not_installed (imported at my_naive_allreduce.py:3), "
        "which is not installed here" in " ".join(done.stdout.split())
    ), done.stdout


def test_an_import_that_nothing_uses_is_remarked(tmp_path):
    """Once, at the end."""
    done = opened(write(tmp_path, f"import not_installed\n{textwrap.dedent(TALKS)}"), "-n", "3")
    assert done.stdout.count("note: my_naive_allreduce.py:1 imports not_installed, which is") == 1


def test_a_crash_is_told_with_its_line(tmp_path):
    """Mpirun names a signal only."""
    source = """
        import os, signal
        def allreduce(send, recv, comm, op):
            if comm.rank == 1:
                os.kill(os.getpid(), signal.SIGSEGV)
            comm.Barrier()
        """
    done = opened(write(tmp_path, source), "-n", "3", "-k", "three_processes")
    assert done.returncode == 1
    assert "rank 1 produced no result: its process ended at my_naive_allreduce.py:5 before" in (
        " ".join(done.stdout.split())
    )


def test_each_rank_prints_by_itself(tmp_path):
    """Whole, in the order of the ranks, under the case: never two ranks in one another."""
    done = opened(write(tmp_path / "hw", TALKS), "-n", "3", "-k", "three_processes")
    assert done.returncode == 1
    case = done.stdout.partition("-- 3 ranks, ")[2].partition("-- ")[0]
    assert case.splitlines()[1:13] == [
        line
        for rank in range(3)
        for line in (
            f"rank {rank} printed:",
            *(f"    line {number} of {rank}" for number in range(3)),
        )
    ]
    assert "3 ranks, length " in done.stdout.partition("FAILURES")[2]
    assert "site-packages" not in done.stdout and "launch_results" not in done.stdout


def test_each_rank_writes_into_a_folder_of_its_own(tmp_path):
    """As where it is graded: a file of one name is another one in each rank."""
    source = """
        from pathlib import Path

        def allreduce(send, recv, comm, op):
            Path("kept.txt").write_text(str(comm.rank))
            comm.Barrier()
            print(f"rank {comm.rank} kept " + Path("kept.txt").read_text(), flush=True)
            recv[...] = 0
        """
    done = opened(write(tmp_path, source), "-n", "3", "-k", "three_processes")
    for rank in range(3):
        assert f"rank {rank} kept {rank}" in done.stdout, done.stdout + done.stderr


def test_with_s_rank_0_is_heard_at_once_and_the_others_after_the_case(tmp_path):
    """Also of tests that hold: so a debugger in rank 0 can be talked to."""
    source = TALKS.replace("recv[...] = 0", "comm.Allreduce(send, recv)")
    done = opened(write(tmp_path, source), "-n", "2", "-k", "one_process or every_dtype", "-s")
    assert "-- 1 rank, length 13, np.add, float64\nline 0 of 0\nline 1 of 0\nline 2 of 0\n" in (
        done.stdout
    )


def test_a_file_one_folder_down_is_found_and_helpers_are_imported(tmp_path):
    """As for a grading."""
    write(
        tmp_path / "hw",
        "from mine.sums import total\n"
        + textwrap.dedent(
            """
        def allreduce(send, recv, comm, op):
            total(comm, send, recv)
        """
        ),
    )
    write(tmp_path / "hw" / "mine", "def total(c, s, r): c.Allreduce(s, r)", "sums.py")
    done = opened(tmp_path, "-n", "2", "-k", "one_process", cwd=tmp_path)
    assert "1 passed" in done.stdout, done.stdout


@pytest.mark.parametrize("name", ["a/my_ring_allreduce (1).py", "code.zip"])
def test_a_file_that_does_not_lie_under_its_name_is_named(tmp_path, name):
    """The files are run as they lie there: it is renamed, or the archive unpacked."""
    source = (REFERENCE / "my_ring_allreduce.py").read_bytes()
    (tmp_path / "a").mkdir()
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        archive.writestr("my_ring_allreduce.py", source)
    if name.endswith(".py"):
        (tmp_path / name).write_bytes(source)
    for arguments in ([], ["--part", "ring_allreduce"]):
        done = opened(tmp_path, "--assignment", "mpi_sgd", *arguments)
        assert done.returncode == 2
        assert name in done.stderr


def test_parts_in_other_folders_are_left_out(tmp_path):
    """Unless they are asked for: then their folder is the one that counts."""
    for folder, name in (("1", "my_naive_allreduce.py"), ("2", "my_ring_allreduce.py")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_bytes((REFERENCE / name).read_bytes())
    one = ["--assignment", "mpi_sgd", "-n", "2", "-k", "one_process or every_dtype"]
    assert opened(tmp_path, *one).returncode == 0
    assert opened(tmp_path, *one, "--part", "ring_allreduce").returncode == 0
    named = opened(tmp_path, *one, "--part", "naive_allreduce", "--part", "ring_allreduce")
    assert named.returncode == 2
    assert "2/my_ring_allreduce.py" in named.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["nowhere"], 2, "nowhere is not a folder; `grade open` needs an unpacked folder"),
        ([REFERENCE, "-k", "nonsense"], 2, "these options select no checks"),
        ([REFERENCE, "--part", "ring"], 2, ". Did you mean ring_allreduce?"),
        ([REFERENCE, "-n", "0"], 2, "found '0'; expected 1 or more"),
        ([ROOT / "reference/vgg_ddp"], 2, "cannot run parts that start their own processes"),
    ],
)
def test_what_cannot_be_opened_is_one_sentence(arguments, code, sentence):
    """With the exit code of bad usage."""
    done = opened(*arguments)
    assert done.returncode == code
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_whoever_interrupts_it_finds_nothing_left(tmp_path, how):
    """Neither its ranks, though they never look up, nor its folder."""
    write(tmp_path, "def allreduce(send, recv, comm, op):\n    while True:\n        pass\n")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    command = [sys.executable, "-m", "grader", "open", tmp_path, "-n", "2", "-s"]
    session = start(command, cwd=ROOT, temporary=str(temporary))
    try:
        (folder,) = wait_for(lambda: folders_of(session))
        wait_for(lambda: (Path(folder) / "case.json").exists())
        session.send_signal(how)
        _, said = session.communicate(timeout=60)
    finally:
        if session.poll() is None:
            session.send_signal(signal.SIGTERM)
    assert (session.returncode, said) == (3, "grade: interrupted; nothing was graded\n")
    assert folders_of(session) == list(Path(temporary).iterdir()) == []
    assert not processes_of(folder)


def processes_of(folder: str) -> list[str]:
    """Return the processes that were started with the folder of a session in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and folder.encode() in (entry / "environ").read_bytes():
                found.append(entry.name)
    return found


@pytest.mark.parametrize(
    ("submission", "fails"),
    [pytest.param(REFERENCE, "", marks=pytest.mark.slow), (CHANGES_SEND, "_unchanged")],
)
def test_pytest_mpi_by_hand_has_the_verdicts_of_an_open_session(submission, fails):
    """With no `grade` around it: mpirun starts pytest, and nothing is left behind."""
    suite = "tests/suites/mpi_sgd/test_ring_allreduce.py"
    mpirun = (Path(sys.executable).parent / "mpirun", "--allow-run-as-root", "--oversubscribe")
    by_hand = ended(
        [
            *(*mpirun, "-n", "3", sys.executable, "-m", "pytest", "--with-mpi", suite),
            *("--submission", submission, "-p", "no:cacheprovider", "-q", "-rA", "--color=no"),
        ]
    )
    session = opened("-n", "3", "--part", "ring_allreduce", submission, "--", "-rA")
    outcomes = sorted(OUTCOME.findall(by_hand.stdout))
    assert outcomes == sorted(OUTCOME.findall(session.stdout))
    failed = [test for verdict, test in outcomes if verdict == "FAILED"]
    assert all(fails in test for test in failed) and len(failed) == bool(fails)
    assert len(outcomes) > 20
    assert (by_hand.returncode == 0) == (session.returncode == 0) == (not fails)

"""Exit code 1 says that points were lost, and nothing else does: whatever breaks, wherever."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "student_template" / "mpi_sgd"


def python(program: str, *arguments: object, **options) -> subprocess.CompletedProcess[str]:
    """Run a program that may import the grader, with what it says."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)],
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=120,
    )


def shell(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `grade`, which the command calls $GRADE, as a shell does; a pipe fails as it does."""
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "GRADE": f"{sys.executable} -m grader", **environment},
        timeout=120,
    )


BROKEN = """
    import os, signal, sys
    import pytest
    from grader import cli
    from grader.__main__ import main

    class Unspeakable(Exception):
        def __str__(self):
            raise ValueError("no words")

    class Interrupting:
        def __enter__(self): return self
        def __exit__(self, *_): raise KeyboardInterrupt

    def command(options):
        {line}

    cli.PLACES["list"] = "__main__:command"
    main(["list"])
"""


def test_several_sentences_are_a_line_each():
    """And a sentence stays a line, whatever it repeats."""
    line = (
        r"from grader.model.errors import GraderError; raise GraderError('a: x', 'b: y\ngrade: z')"
    )
    done = python(BROKEN.format(line=line))
    assert done.returncode == 3
    assert done.stderr == "grade: a: x\ngrade: b: y grade: z\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", ["--version", "--help", "list", "check --help"])
def test_a_reader_that_leaves_is_no_lost_points(arguments, unbuffered):
    """`grade --version | true`: what nobody reads is no mark, and no traceback."""
    done = shell(f"$GRADE {arguments} | true", PYTHONUNBUFFERED=unbuffered)
    assert done.returncode in (0, 3)
    assert done.stderr == ""


@pytest.mark.parametrize("arguments", ["--version", "list"])
def test_a_full_disk_is_no_lost_points(arguments):
    """What could not be written is said in one sentence."""
    done = shell(f"$GRADE {arguments} >/dev/full")
    assert done.returncode == 3
    assert done.stderr == "grade: the grader failed: OSError: [Errno 28] No space left on device\n"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("arguments", ["list", f"check {TEMPLATE} --part x"])
def test_closed_streams_are_no_lost_points(arguments, closed):
    """Whichever of the three: what is said goes nowhere, and no other file takes its place."""
    done = shell(f"$GRADE {arguments} {closed}")
    assert done.returncode == (2 if "check" in arguments else 0)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", ["", "nonsense", "check --nonsense", "check /nowhere", "run"])
@pytest.mark.parametrize("broken", ["", "2>/dev/full", "2>&1 >/dev/null | true"])
def test_bad_usage_is_bad_usage_whether_or_not_it_can_be_told(arguments, broken):
    """Options that argparse refuses, and folders that we do."""
    done = shell(f"$GRADE {arguments} {broken}")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "line",
    [
        "raise KeyError('x')",
        "raise MemoryError",
        "raise RecursionError",
        "raise Unspeakable",
        "raise GeneratorExit",
        "raise pytest.skip.Exception('x')",
        "raise pytest.exit.Exception('x')",
        "raise KeyboardInterrupt",
        "raise SystemExit",
        "sys.exit(0)",
        "sys.exit(1)",
        "sys.exit('a sentence')",
        "os.kill(os.getpid(), signal.SIGTERM); signal.pause()",
        "os.kill(os.getpid(), signal.SIGINT); signal.pause()",
        "with Interrupting(): raise KeyboardInterrupt",
        "with Interrupting(): return 1",
        "return None",
    ],
)
def test_whatever_ends_a_command_is_no_lost_points(line):
    """A sentence, and exit code 3."""
    done = python(BROKEN.format(line=line))
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.startswith("grade: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "line", ["raise KeyError('x')", "raise KeyboardInterrupt", "raise Unspeakable", "return None"]
)
@pytest.mark.parametrize("stream", ["broken", "full"])
def test_what_cannot_be_told_is_no_lost_points(line, stream):
    """Nor does Python's own attempt to say it change the exit code."""
    reader, writer = os.pipe()
    os.close(reader)
    with Path("/dev/full").open("w") as full:
        stderr = {"broken": writer, "full": full}[stream]
        done = python(BROKEN.format(line=line), stderr=stderr)
    os.close(writer)
    assert done.returncode == 3
    assert done.stdout == ""


def test_an_interruption_while_the_last_sentence_is_said_is_no_lost_points():
    """Whoever presses Ctrl-C twice."""
    program = BROKEN.replace(
        'cli.PLACES["list"]',
        """
    class Impatient:
        def write(self, text):
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGTERM)
            os.write(2, text.encode())
        def flush(self): pass
    sys.stderr = Impatient()
    cli.PLACES["list"]""",
    )
    done = python(program.format(line="raise KeyboardInterrupt"))
    assert done.returncode == 3
    assert done.stderr == "grade: interrupted; nothing was graded\n"


def test_no_descriptor_left_is_no_lost_points():
    """Where a stream breaks, and nothing can be opened in its place."""
    line = """
        import resource
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
        print("x" * 100_000)
        return 1"""
    with Path("/dev/full").open("w") as full:
        done = python(BROKEN.format(line=line.strip()), stdout=full)
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        ("ModuleNotFoundError('No module named msgspec')", "No module named msgspec"),
        ("SyntaxError('made for another Python')", "made for another Python"),
        ("KeyboardInterrupt", "interrupted"),
        ("MemoryError", "MemoryError"),
    ],
)
@pytest.mark.parametrize("module", ["grader.cli", "msgspec", "grader.report.safe_text"])
def test_a_grader_that_cannot_be_imported_is_no_lost_points(module, error, sentence):
    """As with a Python that lacks its packages: `python3 -m grader` outside of the environment."""
    program = f"""
    import runpy, sys
    class Broken:
        def find_spec(self, name, path=None, target=None):
            if name == {module!r}:
                raise {error}
    sys.meta_path.insert(0, Broken())
    sys.argv[1:] = ["list"]
    runpy.run_module("grader", run_name="__main__")
    """
    done = python(program)
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.startswith("grade: ") and sentence in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_signal_while_modules_are_imported_is_no_lost_points():
    """The first half second of `grade` is spent on imports."""
    program = """
    import os, runpy, signal, sys
    class Slow:
        def find_spec(self, name, path=None, target=None):
            if name == "grader.cli":
                os.kill(os.getpid(), signal.SIGTERM)
                signal.pause()
    sys.meta_path.insert(0, Slow())
    sys.argv[1:] = ["list"]
    runpy.run_module("grader", run_name="__main__")
    """
    done = python(program)
    assert done.returncode == 3
    assert done.stderr == "grade: interrupted; nothing was graded\n"


GRADE = """
    import sys
    from grader.grading import pipeline
    from grader.model.report import PartResult, Report, Verdict, Versions
    part = PartResult("a", "A", Verdict.WRONG_ANSWER, 1, 2, "because", ())
    pipeline.grade = lambda *_, **__: Report(
        "a", "A", ".", "0", "check", (part,), (), Versions("0", "0", "c", "0", "0"), 1.0, "now"
    )
    from grader.__main__ import main
    main(["check", ".", *sys.argv[1:]])
"""


def test_lost_points_are():
    """What the others are told from: a mark that is not full."""
    assert python(GRADE).returncode == 1
    assert python(GRADE, "--min-score", "1").returncode == 0


@pytest.mark.parametrize("option", ["--json=", "--export=junit=", "--export=markdown="])
def test_a_report_that_cannot_be_written_is_no_lost_points(option):
    """Nor bad usage: the folder could be written to when grading began."""
    done = python(GRADE, f"{option}/dev/full")
    assert done.returncode == 3
    assert "grade: /dev/full cannot be written: No space left on device" in done.stderr


def test_report_files_are_written_though_nobody_reads_the_terminal(tmp_path):
    """`grade check DIR --json r.json | head -1` leaves a whole report."""
    files = [tmp_path / name for name in ("r.json", "r.xml", "r.md")]
    options = [each for file in files for each in ("--report", file)]
    with Path("/dev/full").open("w") as full:
        done = python(GRADE, *options, stdout=full)
    assert done.returncode == 3
    assert all(file.stat().st_size for file in files)


def test_progress_that_nobody_sees_does_not_end_a_grading():
    """The mark is printed all the same, though the other stream is broken."""
    program = GRADE.replace(
        "from grader.__main__",
        """
    graded = pipeline.grade
    def grade(*arguments, settings, **named):
        for part in range(9):
            settings.progress(f"{part}: starting")
        return graded()
    pipeline.grade = grade
    from grader.__main__""",
    )
    reader, writer = os.pipe()
    os.close(reader)
    done = python(program, stderr=writer)
    os.close(writer)
    assert done.returncode == 1
    assert "1 of 2 points in" in done.stdout


def test_being_told_to_stop_is_exit_code_3_in_a_real_grading():
    """SIGTERM while ranks are running: what is said ends with one sentence."""
    process = subprocess.Popen(
        [sys.executable, "-m", "grader", "check", str(ROOT / "reference" / "mpi_sgd")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert process.stderr is not None
    assert process.stderr.readline().startswith("✓ ")
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 3
    assert out == ""
    assert err.endswith("grade: interrupted; nothing was graded\n")

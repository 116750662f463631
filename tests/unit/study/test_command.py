"""`grade study` from a course of one's own to its page, with programs that fail in every way."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

import grader
from grader.addons.authoring import skeleton
from grader.model.errors import UsageError
from grader.observe.forkserver.processes import kill_marked
from grader.study import measure as measuring
from grader.study import study_command
from grader.study.measure import Sources, is_late, measure
from grader.study.plan import Launcher, Point

ROOT = Path(grader.__file__).resolve().parents[1]
SHARED = (ROOT / "grader" / "course" / "support" / "study_point.py").read_bytes()
STUDY = '''"""Times my_sum on one and two ranks."""
from grader.study import Chart, Dot, Point, Series

NAMES = {1: "1 rank", 2: "2 ranks"}

def points(extent):
    return [
        Point(name, "sum", "summing.py", {"length": 10}, needs=("my_sum.py",), ranks=ranks,
              num_repeats=2)
        for ranks, name in NAMES.items()
    ]

def figures(results):
    spreads = {n: results.spread(name, "time_s") for n, name in NAMES.items()}
    dots = tuple(Dot.of(n, each) for n, each in spreads.items() if each)
    return [Chart("sum", "Sum", "ranks", "time (s)", (Series("sum", dots),), "Of 10 numbers.")]

def findings(results):
    return [f"{len(results.reports(name))} runs on {name}." for name in NAMES.values()]
'''
PROGRAM = """import time
import my_sum
from mpi4py import MPI
from study_point import report, settings

begin_s = time.perf_counter()
assert settings()["length"] == 10 and callable(my_sum.add)
report(MPI.COMM_WORLD.Get_rank(), time_s=time.perf_counter() - begin_s)
"""


@pytest.fixture
def course(tmp_path):
    """Write a course of one assignment, `sums`, with a study."""
    root = tmp_path / "course"
    root.mkdir()
    skeleton.write(root, "sums")
    folder = root / "tests" / "suites" / "sums" / "study"
    (folder / "programs").mkdir(parents=True)
    (folder / "__init__.py").write_text(STUDY)
    (folder / "programs" / "summing.py").write_text(PROGRAM)
    work = tmp_path / "work"
    work.mkdir()
    (work / "my_sum.py").write_text("def add():\n    pass\n")
    return root


def begin_study(course, *arguments):
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "grader", "study", "sums", "--course", str(course)),
            *("--quick", *arguments),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=course.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def grade_study(course, *arguments):
    return ended(begin_study(course, *arguments))


def ended(study):
    stdout, stderr = study.communicate(timeout=120)
    return subprocess.CompletedProcess(study.args, study.returncode, stdout, stderr)


def test_a_study_of_a_course_of_ones_own(course):
    """Measured once with MPI, drawn, and the second time not measured again."""
    done = grade_study(course, "--submission", "work", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "1 of 4: 1 rank (run 1 of 2)" in done.stderr
    assert done.stdout.splitlines() == [
        "- 2 runs on 1 rank.",
        "- 2 runs on 2 ranks.",
        "out/README.md: 1 figure or table; this is not a mark",
    ]
    out = course.parent / "out"
    assert {path.name for path in out.iterdir()} == {
        *("README.md", "measurements.jsonl", "sum.csv", "sum.png", "sum.svg")
    }
    assert "What was measured: work." in (out / "README.md").read_text()
    again = grade_study(course, "--submission", "work", "--out", "out")
    assert again.returncode == 0 and " of 4: " not in again.stderr
    assert again.stdout == done.stdout


def test_a_crashing_submission_yields_a_study_without_these_points(course):
    (course.parent / "work" / "my_sum.py").write_text("raise ValueError('no | sum')\n")
    done = grade_study(course, "--submission", "work", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "measurements missing from the figures (2 of 2):" in done.stdout
    assert "1 rank and 1 more: crashed: ValueError: no | sum" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    page = (course.parent / "out" / "README.md").read_text()
    assert "| 1 rank | crashed: ValueError: no \\| sum |" in page


def test_an_interrupted_study_keeps_what_it_has(course):
    """And says so; the same command goes on from there."""
    (course.parent / "work" / "my_sum.py").write_text(
        "import os, time; from mpi4py import MPI\n"
        f"while MPI.COMM_WORLD.Get_size() > 1 and not os.path.exists({str(course / 'go')!r}):\n"
        "    time.sleep(0.1)\n"
        "def add(): pass\n"
    )
    study = begin_study(course, "--submission", "work", "--out", "out")
    try:
        kept = course.parent / "out" / "measurements.jsonl"
        assert _within(60, lambda: kept.is_file() and kept.read_text().endswith("}\n"))
        study.send_signal(signal.SIGINT)
        done = ended(study)
    finally:
        study.kill()
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1] == (
        "grade: interrupted; the measurements are in out. Run the same command again to continue"
    )
    (course / "go").write_text("")
    again = grade_study(course, "--submission", "work", "--out", "out")
    assert again.returncode == 0 and "1 of 4: " not in again.stderr and "2 of 4: " in again.stderr


def test_reports_that_no_figure_can_be_made_of_are_told_in_a_sentence(course):
    """A submission can report as well as the program that calls it."""
    (course.parent / "work" / "my_sum.py").write_text(
        "import os; from mpi4py import MPI; from study_point import report\n"
        "report(MPI.COMM_WORLD.Get_rank(), time_s='long')\n"
        "MPI.Finalize(); os._exit(0)\n"
    )
    done = grade_study(course, "--submission", "work", "--out", "out")
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1] == (
        "grade: the results cannot be drawn (see out/measurements.jsonl): "
        "ValueError: could not convert string to float: 'long'"
    )


def test_what_cannot_be_studied_is_told_in_a_sentence(course):
    folder = course / "tests" / "suites" / "sums" / "study"
    (course.parent / "file").write_text("")
    done = grade_study(course, "--submission", "work", "--out", "file/out")
    assert done.returncode == 2 and "cannot be used for a study" in done.stderr
    (folder / "__init__.py").write_text("import nothing_of_that_name\n")
    done = grade_study(course, "--submission", "work")
    assert done.returncode == 3 and "cannot be imported: ModuleNotFoundError" in done.stderr
    (folder / "__init__.py").write_text("points = None\n")
    done = grade_study(course, "--submission", "work")
    assert done.returncode == 3 and "does not define figures or findings" in done.stderr
    (folder / "__init__.py").unlink()
    done = grade_study(course, "--submission", "work")
    assert done.returncode == 2 and "sums has no study" in done.stderr


def run_program(text, ranks=1, launcher=Launcher.PROCESSES, limit_s=30.0, needs=()):
    found = Sources({}, frozenset(), {"p.py": text.encode(), "study_point.py": SHARED})
    point = Point("p", "p", "p.py", {"n": 3}, needs, ranks, launcher)
    return measure(point, 1, found, data="", limit_s=limit_s)


def test_settings_go_to_the_program_and_reports_come_from_all_ranks():
    text = (
        "import os; from study_point import *\n"
        "rank = int(os.environ['RANK'])\n"
        "report(rank, n=settings()['n'] + rank, repeat=settings()['repeat'])\n"
    )
    found = run_program(text, ranks=2)
    assert found.failure == ""
    assert [dict(each) for each in found.ranks] == [{"n": 3, "repeat": 1}, {"n": 4, "repeat": 1}]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("raise ValueError('no')", "crashed: ValueError: no"),
        ("class WrongResult(Exception): pass\nraise WrongResult('3')", "gave a wrong result: 3"),
        (
            "import argparse; argparse.ArgumentParser().error('no --port')",
            "crashed: usage error: no",
        ),
        ("raise NotImplementedError('TODO: sum')", "is not written yet: TODO: sum"),
        ("pass", "ended without writing a result, and printed no exception"),
        ("import os; os._exit(3)", "ended with exit code 3 without writing a result, and printed"),
        ("import os; os.kill(os.getpid(), 9)", "was killed by SIGKILL without writing a result"),
        ("raise ValueError('a\\x1b[2J' + 'b' * 10**4)", "crashed: ValueError: a [2Jbbb"),
        (
            "import os; open(os.environ['GRADER_STUDY_REPORTS'] + '/0.json', 'w').write('[1]')",
            "ended without writing a result",
        ),
    ],
)
def test_an_end_without_a_result_is_told_in_one_sentence(text, told):
    found = run_program(text)
    assert found.ranks == () and not found.ran_out_of_time
    assert found.failure.startswith(told) and len(found.failure) < 250


@pytest.mark.parametrize("launcher", Launcher)
@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("raise ValueError('late')", "crashed: ValueError: late"),
        ("import os; os._exit(3)", "after writing a result, and printed no exception"),
        ("import os; os.kill(os.getpid(), 11)", "after writing a result, and printed no exception"),
    ],
)
def test_a_crash_after_the_report_is_no_result(launcher, end, told):
    """Half of it may not have been measured."""
    text = (
        "import os; from study_point import *\n"
        "rank = int(os.environ.get('RANK', os.environ.get('OMPI_COMM_WORLD_RANK')))\n"
        f"report(rank, time_s=1.0)\nif rank == 1:\n    {end}\n"
    )
    found = run_program(text, ranks=2, launcher=launcher)
    assert found.ranks == () and told in found.failure and not found.is_certain


def test_of_a_long_output_the_end_is_kept(monkeypatch):
    """It lies in memory, and a program may print without end."""
    monkeypatch.setattr("grader.study.measure._MAX_OUTPUT_NUM_BYTES", 1 << 20)
    text = """if True:
        import os, time
        num_bytes = 0
        while os.fstat(1).st_size >= num_bytes:
            num_bytes = os.fstat(1).st_size
            print('x' * 100_000, flush=True)
            time.sleep(0.01)
        raise ValueError("it has become shorter")
    """
    assert run_program(text).failure == "crashed: ValueError: it has become shorter"


@pytest.mark.parametrize(
    ("passed_s", "run_queue_delay_s", "most_s", "late"),
    [
        (39, 0, 100, False),
        (41, 0, 100, True),
        (60, 25, 100, False),
        (60, 15, 100, True),
        (81, 70, 100, True),
        (60, 25, 50, True),
    ],
)
def test_a_limit_counts_what_the_machine_gave(passed_s, run_queue_delay_s, most_s, late):
    """Of 40 s: up to as long again, and never beyond the time of the study."""
    assert is_late(passed_s, run_queue_delay_s, 40, most_s) is late


@pytest.mark.parametrize("launcher", Launcher)
def test_a_hang_is_ended_with_all_its_processes(launcher):
    marker = f"sleeper_{os.getpid()}_{launcher.value}"
    text = (
        "import subprocess, sys\n"
        f"subprocess.run([sys.executable, '-c', 'import time; {marker} = 1; time.sleep(300)'],\n"
        "               start_new_session=True)\n"
    )
    begin_s = time.monotonic()
    found = run_program(text, ranks=2, launcher=launcher, limit_s=4)
    assert found.ran_out_of_time and found.failure == "did not end within 4 s"
    assert time.monotonic() - begin_s < 60
    assert not any(marker in _command_line(entry) for entry in Path("/proc").iterdir())


@pytest.mark.parametrize("launcher", Launcher)
def test_a_study_that_is_killed_leaves_no_ranks(launcher, tmp_path, monkeypatch):
    """They would compute on beside those of the study that goes on, which also tidies up."""
    shared = tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setattr(measuring, "_BASE", shared)
    marker = f"ranks_of_killed_{os.getpid()}_{launcher.value}"
    begun = str(tmp_path / "begun")
    text = f"import time\nopen({begun!r}, 'a').write('x')\ntime.sleep(300)"
    code = (
        "from pathlib import Path\nfrom tests_of_studies import run_program, measuring, Launcher\n"
        f"measuring._BASE = Path({str(shared)!r})\n"
        f"run_program({text!r}, ranks=2, launcher=Launcher({launcher.value!r}), limit_s=300)\n"
    )
    (tmp_path / "tests_of_studies.py").write_text(Path(__file__).read_text())
    path = os.pathsep.join((str(tmp_path), str(ROOT)))
    study = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path, "GRADER_STUDY_TEST": marker},
    )
    mark = f"GRADER_STUDY_TEST={marker}".encode()
    try:
        assert _within(60, lambda: (tmp_path / "begun").is_file())
        study.kill()
        study.wait()
        assert _within(60, lambda: not _marked(mark)), _marked(mark)
        (left,) = shared.glob("grader-study-*")
        run_program("pass")
        assert not left.exists()
    finally:
        study.kill()
        kill_marked(mark)


def _within(limit_s, holds):
    until_s = time.monotonic() + limit_s
    while not holds():
        if time.monotonic() > until_s:
            return False
        time.sleep(0.05)
    return True


def _marked(mark):
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(_command_line(entry))
    return found


def _command_line(entry):
    try:
        return (entry / "cmdline").read_text(errors="replace")
    except OSError:
        return ""


def test_one_crash_among_processes_that_wait_is_told():
    text = (
        "import os, time\nif os.environ['RANK'] == '1': raise KeyError('gone')\ntime.sleep(300)\n"
    )
    found = run_program(text, ranks=2)
    assert found.failure == "crashed: KeyError: 'gone'"


def test_a_missing_file_is_told_without_a_run():
    found = run_program("raise SystemExit", needs=("my_sum.py",))
    assert found.failure == "my_sum.py was not handed in"


def test_a_measurement_survives_the_way_through_json():
    found = run_program("from study_point import *; report(a=[1.5, 'x'])")
    assert json.loads(json.dumps(found.ranks[0])) == {"a": [1.5, "x"]}


def test_a_folder_with_a_page_of_somebody_elses_is_left_alone(tmp_path):
    """It would be replaced by the page of the study."""
    (tmp_path / "README.md").write_text("mine")
    with pytest.raises(UsageError, match="and this study would overwrite it"):
        study_command._require_ours(tmp_path)
    assert (tmp_path / "README.md").read_text() == "mine"
    (tmp_path / "README.md").write_text("# Study of sums\n")
    study_command._require_ours(tmp_path)
    study_command._require_ours(tmp_path / "new")


def test_the_folder_of_a_study_that_is_measuring_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(measuring, "_BASE", tmp_path)
    found = Sources({"a.py": b"1"}, frozenset(), {})
    with measuring.workplace(found) as one, measuring.workplace(found) as other:
        assert one != other and (one / "work" / "a.py").is_file()
    assert list(tmp_path.iterdir()) == []

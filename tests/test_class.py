"""A class is graded to the end, whatever happens on the way: killed, resumed, on Slurm.

By a small assignment of a course of its own, without containers; what is sealed about a grading is
tried elsewhere, and is the same command.
"""

import contextlib
import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from datetime import datetime, timedelta
from pathlib import Path

import one_node_slurm
import pytest

from grader.addons.classroom.arrivals import digest_of

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S = 900
ROSTER = """\
id,name,moodle,group
anna,Anna A,1,
bert,Bert B,2,g1
cleo,Cleo C,3,g1
dora,Dora D,4,
emil,Emil E,5,
fine,Fine F,6,
gerd,Gerd G,7,
"""
SETTINGS = """\
assignment = "halo"
platform = "moodle"
deadline = 2026-11-20T12:00:00
roster = "roster.csv"
times = "times.csv"
[late]
per_day = 0.1
"""


def grade(*arguments, cwd, code=None):
    done = subprocess.run(
        [sys.executable, "-m", "grader", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert code is None or done.returncode == code, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    folder = tmp_path_factory.mktemp("course")
    grade("new", "halo", cwd=folder, code=0)
    return folder


@pytest.fixture
def work(course, tmp_path):
    """Return a folder with a class in `in`, delivered in several ways."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "class.toml").write_text(SETTINGS)
    (folder / "roster.csv").write_text(ROSTER)
    (folder / "times.csv").write_text(
        "hand_in,submitted_at\n"
        "anna,2026-11-20T11:00\n"
        "Bert B_2_assignsubmission_file_,2026-11-21T11:00\n"
    )
    samples = {
        path.parents[1].name: path
        for path in (course / "tests" / "submissions").glob("*/halo/*/my_sum.py")
        for path in [path.parents[0]]
    }
    right, wrong, hang = (samples[name] for name in ("accepted", "wrong_answer", "deadlock"))
    shutil.copytree(right, folder / "anna")
    shutil.copytree(wrong, folder / "Bert B_2_assignsubmission_file_")
    with zipfile.ZipFile(folder / "dora.zip", "w") as archive:
        archive.write(hang / "my_sum.py", "my_sum.py")
    (folder / "emil.zip").write_bytes(b"no archive at all")
    shutil.copytree(right, folder / "fine")  # the same as another, and graded once
    (folder / "fine2").mkdir()
    (folder / "fine2" / "my_sum.py").write_text("import no_such_module\n")
    return tmp_path


def arguments(course, *more):
    return ["--course", course, "class", "in", "--unsealed", "--cores=1", *more]


def gradebook(work, out="graded-in"):
    rows = csv.DictReader((work / out / "gradebook.csv").read_text().splitlines())
    return {row["id"]: row for row in rows}


def marks(work, out="graded-in"):
    return {
        name: (row["status"], row["score"], row["final"], row["sum verdict"])
        for name, row in gradebook(work, out).items()
    }


def expected(course, work):
    """Return points and verdict of each folder, graded one by one."""
    found = {}
    for name in ("anna", "Bert B_2_assignsubmission_file_", "dora.zip"):
        report = work / "one.json"
        done = grade(
            *("--course", course, "check", work / "in" / name, "--assignment", "halo"),
            *("--full-json", report),
            cwd=work,
        )
        assert done.returncode in (0, 1), done.stderr
        (part,) = json.loads(report.read_text())["parts"]
        found[name] = (part["points"], part["verdict"])
    return found


def outcomes(work):
    folder = work / "graded-in" / "gradings"
    return {
        # Not what is being written under a name of its own.
        path.parent.name: json.loads(path.read_text())
        for path in folder.glob("[!.]*/outcome.json")
    }


def assert_is_graded(work, one_by_one, out="graded-in"):
    """Assert that everybody has the mark that a grading by itself gives, by the rules."""
    found = marks(work, out)
    points, verdict = one_by_one["anna"]
    assert found["anna"] == ("marked", f"{points:g}", f"{points:g}", verdict)
    points, verdict = one_by_one["Bert B_2_assignsubmission_file_"]
    late = ("marked", f"{points:g}", f"{points * 0.9:g}", verdict)
    assert found["bert"] == found["cleo"] == late
    points, verdict = one_by_one["dora.zip"]
    assert found["dora"] == ("marked", f"{points:g}", f"{points:g}", verdict)
    assert found["emil"][:3] == ("cannot be graded", "", "")
    assert found["fine"] == found["anna"]
    assert found["gerd"][:3] == ("no hand-in found", "", "")  # as long as fine2 is nobody's


def assert_no_core_was_shared(work):
    """Of two gradings at the same time on one machine, none has a processor of the other."""
    spans = []
    for each in outcomes(work).values():
        begin = datetime.fromisoformat(each["started_at"])
        # Told in whole seconds: what may have overlapped by less is left out.
        end = begin + timedelta(seconds=each["wall_time_s"] - 1)
        spans.append((begin, end, set(each["cpus"])))
    for index, (begin, end, cpus) in enumerate(spans):
        for other_begin, other_end, others in spans[:index]:
            assert not (cpus & others) or end <= other_begin or other_end <= begin


def test_a_class_that_is_killed_twice_is_graded_to_the_end(course, work):
    """Nothing is lost and nothing done twice; the marks are those of one grading by itself."""
    started = [sys.executable, "-m", "grader", *map(str, arguments(course))]
    seen = {}
    for _ in range(2):
        with subprocess.Popen(
            started,
            cwd=work,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stderr=subprocess.DEVNULL,
        ) as process:
            wait_for_more(work, len(seen), process)
            beside = grade(*arguments(course), cwd=work, code=2)
            assert "another `grade class` is running in graded-in" in beside.stderr
            os.kill(process.pid, signal.SIGKILL)
        seen = outcomes(work)
    assert seen
    done = grade(*arguments(course), cwd=work, code=3)
    assert "emil: cannot be graded: " in done.stdout
    assert "fine2 does not match moodle's names for hand-ins, so it does not count" in done.stdout
    without = "1 student has no hand-in, and will get no mark until every hand-in has an author"
    assert without in done.stdout
    after = outcomes(work)
    marked = {key: each for key, each in seen.items() if not each["error"]}
    assert {key: after[key] for key in marked} == marked
    assert len(after) == 4  # of five hand-ins, two of which are the same
    assert_is_graded(work, expected(course, work))
    assert_no_core_was_shared(work)
    assert not list((work / "graded-in" / "gradings").glob(".making-*"))


def wait_for_more(work, number, process):
    until_s = time.monotonic() + LIMIT_S
    while len(outcomes(work)) <= number:
        assert process.poll() is None and time.monotonic() < until_s
        time.sleep(0.02)


@pytest.mark.slow
def test_what_is_forgotten_does_not_come_back(course, work):
    """Not in the gradebook, not among the gradings, and not at the next time."""
    grade(*arguments(course), cwd=work, code=3)
    name = gradebook(work)["dora"]["pseudonym"]
    before = outcomes(work)
    (work / "sheet.csv").write_text("Identifier,Full name,Grade\nParticipant 4,Dora D,\n")
    forget = arguments(course, "--forget", "dora", "--fill", "sheet.csv")
    said = grade(*forget, cwd=work, code=3).stdout
    assert "dora: removed 1 grading and" in said and "dora.zip" in said
    for line in ("in/roster.csv, line 5", "sheet.csv, line 2"):
        assert f"  remove the student yourself: {line}\n" in said
    assert not [*(work / "graded-in").glob("moodle-*")], "which would have the name"
    for _ in range(2):
        assert "dora" not in gradebook(work)
        assert not (work / "graded-in" / "students" / name).exists()
        assert len(outcomes(work)) == len(before) - 1
        grade(*arguments(course), cwd=work, code=3)
    said = grade(*arguments(course, "--forget", "emil"), cwd=work, code=3).stdout
    assert "emil: removed 1 grading" in said and "emil.zip" in said and "dora.zip" not in said
    said = grade(*arguments(course, "--forget", "bert"), cwd=work, code=3).stdout
    sent = work / "in" / "Bert B_2_assignsubmission_file_"
    assert f"  rename the team's hand-in to g1 yourself: {sent.relative_to(work)}\n" in said
    assert "  remove the student yourself: in/times.csv, line 3\n" in said
    sent.rename(work / "in" / "g1")
    grade(*arguments(course), cwd=work, code=3)
    assert gradebook(work)["cleo"]["status"] == "marked"
    assert "bert" not in (work / "graded-in" / "gradebook.csv").read_text().lower()
    refused = grade(*arguments(course, "--forget", "nobody"), cwd=work, code=2)
    assert "no student here has the id 'nobody'" in refused.stderr


def test_what_could_not_be_graded_is_tried_again(course, work):
    """What was in the way may be gone, such as data that were not there, or a right to read."""
    grade(*arguments(course), cwd=work, code=3)
    before = outcomes(work)
    (refused,) = [key for key, each in before.items() if each["error"]]
    file = work / "graded-in" / "gradings" / refused / "outcome.json"
    file.write_text(file.read_text().replace(before[refused]["error"], "there are no data"))
    grade(*arguments(course), cwd=work, code=3)
    after = outcomes(work)
    assert after[refused]["error"] == before[refused]["error"]
    assert {**after, refused: None} == {**before, refused: None}


def test_a_regrade_is_shown_before_it_is_published(course, work, tmp_path):
    """With a course that asks for more; until --publish everybody has the mark of before."""
    other = tmp_path / "course"
    shutil.copytree(course, other)
    grade(*arguments(other), cwd=work, code=3)
    before = marks(work)
    same = grade(*arguments(other, "--regrade"), cwd=work, code=0).stdout
    assert "0 marks change" in same
    suite = other / "tests" / "suites" / "halo" / "test_sum.py"
    text = suite.read_text()
    suite.write_text(
        text.replace('assert_unchanged(outcome["send"]', 'assert_unchanged(outcome["recv"]')
    )
    assert suite.read_text() != text
    grade(*arguments(other), cwd=work, code=3)
    assert marks(work) == before
    said = grade(*arguments(other, "--regrade"), cwd=work, code=0).stdout
    assert "anna, fine: 10 -> 9 (sum: test_send_is_left_alone)" in said and " changed from " in said
    assert marks(work) == before
    (work / "graded-in" / "moodle-grades.csv").touch()
    said = grade(*arguments(other, "--regrade", "--publish"), cwd=work, code=3).stdout
    assert marks(work)["anna"][1] == "9"
    assert "  anna, fine: 10 -> 9\n" in said, "what was published is listed"
    assert "moodle-grades.csv may contain outdated marks; --fill FILE" in said


def test_a_class_is_judged_again_without_ranks(course, work, tmp_path, monkeypatch):
    """After a rule has changed: from what was seen of the gradings before."""
    other = tmp_path / "course"
    shutil.copytree(course, other)
    grade(*arguments(other), cwd=work, code=3)
    before = marks(work)
    suite = other / "tests" / "suites" / "halo" / "test_sum.py"
    text = suite.read_text()
    suite.write_text(
        text.replace('assert_unchanged(outcome["send"]', 'assert_unchanged(outcome["recv"]')
    )
    monkeypatch.setenv("GRADER_INTERPOSER", "/no/rank/can/be/started")
    said = grade(*arguments(other, "--judge-again"), cwd=work, code=0).stdout
    assert "anna, fine: 10 -> 9 (sum: test_send_is_left_alone)" in said
    assert marks(work) == before
    grade(*arguments(other, "--judge-again", "--publish"), cwd=work, code=3)
    assert marks(work)["anna"][1] == "9"
    suite.write_text(text)
    said = grade(*arguments(other, "--judge-again"), cwd=work, code=0).stdout
    assert "anna, fine: 9 -> 10" in said, "a recording can be judged any number of times"


def test_an_interrupted_class_is_judged_again(course, work):
    """Those that were observed; of the others one sentence says what to do."""
    grade(*arguments(course), cwd=work, code=3)
    before, points = outcomes(work), marks(work)
    (work / "graded-in" / "published.json").unlink()
    label = (
        digest_of(work / "in" / "anna"),
        digest_of(work / "in" / "Bert B_2_assignsubmission_file_"),
    )
    for key, each in before.items():
        if each["digest"] in label:
            shutil.rmtree(work / "graded-in" / "gradings" / key)
    said = grade(*arguments(course, "--judge-again"), cwd=work, code=3).stdout
    assert "1 student graded again: 0 marks change" in said
    (line,) = [each for each in said.splitlines() if "nothing has been recorded" in each]
    assert "Bert B_2_assignsubmission_file, anna, fine: nothing has been recorded" in line
    said = grade(*arguments(course, "--judge-again", "--publish"), cwd=work, code=3).stdout
    assert said.count("nothing has been recorded") == 1
    found = marks(work)
    assert found["dora"] == points["dora"] and found["anna"] == ("not graded", "", "", "")
    grade(*arguments(course), cwd=work, code=3)
    assert marks(work) == points


def test_what_was_not_recorded_or_is_damaged_is_told(course, work, tmp_path):
    """And keeps the mark that it has."""
    other = tmp_path / "course"
    shutil.copytree(course, other)
    grade(*arguments(other), cwd=work, code=3)
    before = marks(work)
    (other / "tests" / "suites" / "halo" / "test_sum.py").open("a").write("# moved\n")
    first, *others = sorted((work / "graded-in" / "gradings").glob("*/recording.rec"))
    first.unlink()
    for file in others:
        file.write_bytes(file.read_bytes()[:-20])
    said = grade(*arguments(other, "--judge-again"), cwd=work, code=3).stdout
    assert "the grading was not recorded; grade again with --regrade" in said
    assert "is damaged" in said
    assert marks(work) == before


def kill_workers(folder: str) -> int:
    """Kill the workers of the Slurm in this folder, not those of another checkout; return how many.

    What Slurm starts has the path of its configuration, which lies there.
    """
    killed = 0
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            is_worker = b"process_worker_pool" in (process / "cmdline").read_bytes()
            if is_worker and folder.encode() in (process / "environ").read_bytes():
                os.kill(int(process.name), signal.SIGKILL)
                killed += 1
    return killed


@pytest.mark.slow
@pytest.mark.skipif(
    not one_node_slurm.is_there(), reason="Slurm is not installed, or we are no root"
)
def test_slurm_gives_the_same_marks_also_when_a_worker_is_killed(course, work):
    """A real Slurm of one node: its workers are lost, and what they did is done again."""
    with (
        tempfile.TemporaryDirectory(prefix="slurm-") as folder,
        one_node_slurm.running(Path(folder)) as environment,
    ):
        setup = f"export PATH={Path(sys.executable).parent}:$PATH PYTHONPATH={ROOT}"
        (work / "slurm.toml").write_text(
            'kind = "slurm"\naddress = "127.0.0.1"\n[provider]\npartition = "test"\n'
            f'exclusive = false\nwalltime = "00:30:00"\nworker_init = "{setup}"\n'
        )
        command = arguments(course, "--cluster", "slurm.toml", "--memory=256MiB")
        with subprocess.Popen(
            [sys.executable, "-m", "grader", *map(str, command)],
            cwd=work,
            env={**environment, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            wait_for_more(work, 0, process)
            killed = kill_workers(folder)
            said, told = process.communicate(timeout=LIMIT_S)
        assert killed
        assert process.returncode == 3, said + told
    assert_is_graded(work, expected(course, work))

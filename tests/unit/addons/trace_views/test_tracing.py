"""The command `grade trace`, from a folder to a table."""

import json
import os
import re
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from grader.addons.trace_views import trace_command
from grader.model.errors import UsageError
from grader.report.terminal_page import num_columns

ROOT = Path(__file__).resolve().parents[4]
SUBMISSIONS = Path("tests", "submissions")
WRONG_SIDE = SUBMISSIONS / "deadlock" / "mpi_sgd" / "ring_receives_from_the_wrong_side"
RING = "reference/mpi_sgd", "--part", "ring_allreduce"


def grade_trace(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "grader", "trace", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "NO_COLOR": "1"},
        timeout=120,
    )
    assert all(num_columns(line) <= 80 for line in done.stdout.splitlines())
    return done


def without_times(text: str) -> list[list[str]]:
    """Return the words of each line, but those that differ from run to run."""
    return [re.sub(r"\d+\.\d\d", "T", line).split() for line in text.splitlines()]


def test_a_right_ring_on_three_ranks():
    """Each rank's calls, and nothing left under way."""
    done = grade_trace(*RING, "--only", "three_processes", "--ranks", "3", "--plain")
    assert done.returncode == 0, done.stderr
    lines = without_times(done.stdout)
    assert ["0-2", "12", "4", "2,560", "4", "2,560"] in lines
    assert ["4", "2,560", "640", "each", "rank", "->", "the", "next"] in lines
    assert ["1", "T", "Irecv", "from", "2", "0", "(any)", "640", "38", "done", "in", "#3"] in lines
    assert ["+", "passed", "three_processes"] in lines
    assert "still waiting" not in done.stdout and "never completed" not in done.stdout


def test_the_case_that_failed_the_test_is_shown():
    """Not the first that fails, which another test has started ranks for."""
    done = grade_trace(WRONG_SIDE, "--part", "ring_allreduce", "--only", "three_processes")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    case = r"mpi_sgd, ring_allreduce, case 2 of \d+: length 240, np.add, float64"
    assert re.fullmatch(case, lines[0])
    assert lines[2] == "launch 2: 3 ranks, started by results_come_from_the_messages"
    assert "✗ deadlock three_processes: see case 2" in lines
    assert ["1", "12", "length", "240,", "np.add,", "float64", "DEADLOCK"] in map(str.split, lines)


def test_a_part_on_torch_distributed_as_json(tmp_path):
    """Its collectives, as a program calls them; a report on the screen as well."""
    file = tmp_path / "trace.json"
    done = grade_trace("reference/vgg_ddp", "--part", "allreduce", "--json", file)
    assert done.returncode == 0, done.stderr
    assert "vgg_ddp, allreduce, case 2 of 5: 2 iterations" in done.stdout
    data = json.loads(file.read_text())
    assert data["case"] == 2 and data["communicators"] == [{"name": "world", "size": 4}]
    for rank in data["ranks"]:
        assert rank["num_calls"] == len(rank["calls"]) == 52
        assert {call["call"] for call in rank["calls"]} == {"all_reduce"}
        assert {call["state"] for call in rank["calls"]} == {"completed"}
        assert {call["file"] for call in rank["calls"]} == {"main.py"}
    assert [each["number"] for each in data["collectives"]] == [52] * 4


def test_a_case_can_be_chosen():
    """By its number in the list, which then has the others; JSON alone on the screen."""
    asked = (*RING, "--only", "three_processes", "--ranks", "3")
    done = grade_trace(*asked, "--case", "2", "--limit", "5")
    assert done.returncode == 0, done.stderr
    assert re.match(r"mpi_sgd, ring_allreduce, case 2 of \d+: ", done.stdout)
    assert "      ... #5 to #11 left out; --limit 0 shows all\n" in done.stdout
    listed = done.stdout.partition("Other cases")[2]
    numbers = [int(found) for found in re.findall(r"^ +(\d+) +\d+  \S", listed, re.M)]
    assert numbers == [1, *range(3, len(numbers) + 2)]
    missing = grade_trace(*asked, "--case", "99")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "there is no case 99: ring_allreduce has " in missing.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["reference/mpi_sgd", "--part", "ring"], ". Did you mean ring_allreduce?"),
        (
            ["reference/mpi_sgd"],
            "shows one part of mpi_sgd at a time; name it with --part: sync_collective, naive_",
        ),
        ([*RING, "--limit", "-1"], "found '-1'; expected 0 or more"),
        ([*RING, "--json", "none/x.json"], "none/x.json cannot be written; name a file in an"),
        (
            [*RING, "--only", "three"],
            "no check of ring_allreduce is called three. Did you mea",
        ),
        (
            [*RING, "--ranks", "11"],
            "no check of ring_allreduce runs on 11 ranks",
        ),
    ],
)
def test_what_cannot_be_traced_is_bad_usage(arguments, sentence):
    """Exit code 2, a sentence, and nothing on the screen."""
    done = grade_trace(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr


def test_the_only_part_that_was_handed_in_needs_no_name():
    done = grade_trace(WRONG_SIDE, "--only", "three_processes", "--ranks", "3")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("mpi_sgd, ring_allreduce, case 1 of ")


def test_a_part_that_was_not_handed_in_says_so(tmp_path):
    """Nothing is started then."""
    (tmp_path / "my_naive_allreduce.py").write_text("")
    done = grade_trace(tmp_path, "--part", "ring_allreduce")
    assert done.returncode == 2
    assert "no rank ran ring_allreduce: my_ring_allreduce.py was" in done.stderr


def test_an_option_with_which_no_rank_runs_is_named():
    """The check of this number of ranks needs another one, which this number leaves out."""
    done = grade_trace("reference/mpi_sgd", "--part", "naive_allreduce", "--ranks", "1")
    assert done.returncode == 2
    said = "no rank ran naive_allreduce: --ranks selects 1 rank only; leave out --only and --ranks"
    assert said in done.stderr


def test_nothing_is_shown_where_a_grading_would_be_sealed(monkeypatch):
    """Before anything is read."""
    monkeypatch.setattr(trace_command, "is_sealed", lambda: True)
    with pytest.raises(
        UsageError, match=("`grade trace` does not work in a sealed grading; run it")
    ):
        trace_command.trace(Namespace(submission=Path("/nowhere")), lambda text: None)

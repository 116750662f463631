"""The invariants checked after every attack: each of them can be broken, and is then told."""

from dataclasses import replace

import pytest
from red_team import invariants, rendered
from red_team.attack import Attack
from red_team.canaries import ROOT, Canaries
from red_team.container import Graded

from grader.model.report import Verdict
from grader.report import json_report

ATTACK = Attack(
    name="it",
    files={"work.py": b"raise ValueError('BREACH is only what I write here')\n"},
    about="",
    threat="",
    part="naive_allreduce",
    verdicts=frozenset({Verdict.WRONG_ANSWER}),
    must_not_appear=("EXFIL",),
)
CLEAN = {"num_pids": 3, "processes": [], "files": {"/tmp": {"'/tmp/ours'": 0}}, "ipc": []}


def report(verdict=Verdict.WRONG_ANSWER, points=0.0, message="recv[0] is 0", part=ATTACK.part):
    one = rendered.report_of_one_test(message, verdict=verdict, points=points, part=part)
    return json_report.render(one).encode()


GRADED = Graded(
    report=report(),
    stderr="grading naive_allreduce\n",
    exit_code=1,
    before=CLEAN,
    after=CLEAN,
    wall_time_s=3.0,
    container="0",
    canaries=Canaries("s" * 32, "f" * 32, "e" * 32),
)


def test_a_grading_in_order_breaks_nothing():
    """An attack that got what it deserves, and left nothing, is no finding."""
    assert invariants.broken(ATTACK, GRADED) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"report": report(points=4)}, "it got 4 points and deserves at most 0"),
        ({"report": report(Verdict.JUDGE_ERROR)}, "the verdict is JUDGE_ERROR"),
        ({"report": report(part="another")}, "the report is about"),
        ({"report": report(message="BREACH of the judge")}, "holds 'BREACH'"),
        ({"report": report(message="EXFIL 00ff")}, "holds 'EXFIL'"),
        ({"report": b""}, "no well-formed report"),
        ({"report": report(message="s" * 32)}, "tells the course secret"),
        ({"stderr": "f" * 32}, "tells a file of the judge"),
        ({"stderr": "e" * 32}, "tells the judge's environment"),
        ({"after": {}}, "the container was killed"),
        ({"after": {**CLEAN, "processes": ["sh (users 1 1 1 1, state S)"]}}, "still alive"),
        ({"after": {**CLEAN, "num_pids": 4}}, "3 processes before, 4 after"),
        ({"after": {**CLEAN, "ipc": ["1234"]}}, "System V objects are left"),
        ({"after": {**CLEAN, "files": {"/tmp": {"'/tmp/kept'": 5000}}}}, "files are left in /tmp"),
        (
            {"after": {**CLEAN, "files": {"/tmp": {"'/tmp/hostile-marker-x'": 0}}}},
            "root has written",
        ),
        ({"wall_time_s": 1000.0}, "it took 1000 s"),
    ],
)
def test_what_is_broken_is_told(change, problem):
    """Points, verdicts, words, canaries, processes, files and time."""
    found = invariants.broken(ATTACK, replace(GRADED, **change))
    assert any(problem in each for each in found), found


def test_a_line_of_a_model_solution_is_a_canary():
    """Unless the attack itself brought it."""
    solution = (ROOT / "reference" / "mpi_sgd" / "my_naive_allreduce.py").read_text()
    line = next(line.strip() for line in solution.splitlines() if "contributions = [" in line)
    canaries = GRADED.canaries
    assert canaries.found_in(f"I found {line}!", []) == [
        f"tells a line of the course's files: {line!r}"
    ]
    assert canaries.found_in(f"I found {line}!", [f"    {line}\n"]) == []


def test_an_honest_control_has_to_get_everything():
    """What it deserves is the least that it may get."""
    honest = replace(
        ATTACK, verdicts=frozenset({Verdict.ACCEPTED}), most_points=15, least_points=15
    )
    full = replace(GRADED, report=report(Verdict.ACCEPTED, 15.0))
    assert invariants.broken(honest, full) == []
    lost = replace(GRADED, report=report(Verdict.ACCEPTED, 14.0))
    assert any("deserves 15" in each for each in invariants.broken(honest, lost))

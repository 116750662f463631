"""No mutant survives without a reason, and the summary counts which do."""

import runpy
from pathlib import Path

from grader.addons.authoring.verification.mutation import Row, reasons, unexplained

BENCHMARK = runpy.run_path(str(Path(__file__).parents[4] / "benchmarks" / "mutation.py"))
summary = BENCHMARK["summary"]
KILLED = Row("a", "a/x.py", 3, "bound", "1", "2", 0, "WRONG_ANSWER", "ring: test_any_length")
SURVIVOR = Row("a", "a/x.py", 9, "operator", "+", 'a, "quoted"\nthing', 1, "ACCEPTED", "")
MISSED = Row("a", "a/y.py", 1, "tag", "0", "(0) + 1", 0, "ACCEPTED", "")
WHY = {SURVIVOR.key: "addition of nothing"}


def test_a_survivor_needs_a_reason(tmp_path):
    """Its key names the change, not the line, which moves."""
    assert unexplained([KILLED, SURVIVOR, MISSED], WHY) == [MISSED]
    assert "9" not in SURVIVOR.key
    file = tmp_path / "equivalent.toml"
    assert reasons(file) == {}
    file.write_text('"a (0)" = "why"\n')
    assert reasons(file) == {"a (0)": "why"}


def test_the_summary_counts_by_file():
    """Killed, explained, missed."""
    table = summary([KILLED, SURVIVOR, MISSED], WHY).splitlines()
    assert table[2:] == ["| `a/x.py` | 2 | 1 | 1 | 0 |", "| `a/y.py` | 1 | 0 | 0 | 1 |"]

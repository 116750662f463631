"""How busy the machine is, and what a study says of it."""

from types import SimpleNamespace

import pytest

from grader.study import Machine, Results, machine, writing
from grader.study.page import page
from grader.study.plan import Extent, Point
from grader.study.workplace import Sources

BEFORE = "cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n"
AFTER = "cpu  160 0 55 820 55 5 5 0 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n"


@pytest.mark.parametrize(
    ("before", "after", "share"),
    [
        (BEFORE, AFTER, 0.75),
        (BEFORE, BEFORE, 0.0),
        ("nothing known", "nothing known", 0.0),
    ],
)
def test_how_busy_the_cores_are(before, after, share, tmp_path, monkeypatch):
    """100 ticks have passed, in 25 of which the cores were idle or waited for a disk."""
    times = tmp_path / "stat"
    times.write_text(before)
    monkeypatch.setattr(machine, "_CPU_TIMES", times)
    monkeypatch.setattr(machine.time, "sleep", lambda seconds: times.write_text(after))
    assert machine.busy_share() == pytest.approx(share)


def test_a_system_that_does_not_say_how_busy_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "_CPU_TIMES", tmp_path / "nothing")
    assert machine.busy_share(0) == 0


@pytest.mark.parametrize(("busy", "is_told"), [(0.1, False), (0.93, True)])
def test_a_study_on_busy_cores_says_so(busy, is_told, tmp_path, monkeypatch):
    """But not where it has measured nothing this time."""
    point = Point("p", "p", "p.py", needs=("a.py",), num_repeats=1)
    study = SimpleNamespace(
        points=lambda extent: [point], figures=lambda results: [], findings=lambda results: []
    )
    monkeypatch.setattr(writing.loading, "load", lambda assignment: study)
    monkeypatch.setattr(writing, "sources", lambda *_: Sources({}, frozenset(), {}))
    monkeypatch.setattr(writing, "busy_share", lambda: busy)
    sums = SimpleNamespace(name="sums")
    notes = [
        writing.make(sums, None, tmp_path, Extent.QUICK, "", lambda text: None).note
        for _ in range(2)
    ]
    assert notes[0].startswith("Other programs took 93% of the cores' time") is is_told
    assert notes[1] == ""


def test_the_page_says_on_top_that_cores_were_busy():
    results = Results({}, Machine(2, "a processor", {}), {})
    assert page("Study", "it", [], [], results, [], "All were busy.").splitlines()[4] == (
        "All were busy."
    )

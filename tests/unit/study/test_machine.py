"""How busy the machine is, and what a study says of it."""

from types import SimpleNamespace

import pytest

from grader.study import Machine, Results, Table, running, study_command
from grader.study.measure import Sources
from grader.study.page import caption, page
from grader.study.plan import Extent, Point

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
    monkeypatch.setattr(running, "_CPU_TIMES", times)
    monkeypatch.setattr(running.time, "sleep", lambda seconds: times.write_text(after))
    assert running.busy_share() == pytest.approx(share)


def test_a_system_that_does_not_say_how_busy_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "_CPU_TIMES", tmp_path / "nothing")
    assert running.busy_share(0) == 0


@pytest.mark.parametrize(("busy", "is_told"), [(0.1, False), (0.93, True)])
def test_a_study_on_busy_cores_says_so(busy, is_told, tmp_path, monkeypatch):
    """Also when it is drawn again later, on quiet cores: its times are those of busy ones."""
    point = Point("p", "p", "p.py", needs=("a.py",), num_repeats=1)
    study = SimpleNamespace(
        points=lambda extent: [point], figures=lambda results: [], findings=lambda results: []
    )
    monkeypatch.setattr(study_command, "load", lambda assignment: study)
    monkeypatch.setattr(study_command, "sources", lambda *_: Sources({}, frozenset(), {}))
    sums = SimpleNamespace(name="sums")
    for busy_now in (busy, 0.0):
        monkeypatch.setattr(running, "busy_share", lambda now=busy_now: now)
        note = study_command.make(sums, None, tmp_path, Extent.QUICK, "", lambda text: None).note
        assert ("other programs took 93% of the cores' time" in note) is is_told


def test_a_caption_says_that_cores_were_shared():
    table = Table("all", "All", ("run",), (("a",),), "A caption.")
    two = Machine(2, "a processor", {})
    assert caption(table, two, 0.1) == "A caption. Measured on 2 cores (a processor)."
    assert caption(table, two, 0.89) == (
        "A caption. Measured on 2 cores (a processor); other programs used 89% of the CPU time."
    )


def test_the_page_says_on_top_that_cores_were_busy():
    results = Results({}, Machine(2, "a processor", {}), {})
    assert page("Study", "it", [], [], results, [], "All were busy.").splitlines()[4] == (
        "All were busy."
    )

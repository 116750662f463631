"""How often a run that stands still is examined for a deadlock."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from grader.observe.run_control import watch
from grader.recording.launch_plan import Limits
from grader.trace.calls import Calls, RankTrace

TICK_S = 0.05


class Clock:
    """Goes on when it is told to."""

    def __init__(self):
        self.now_s = 100.0

    def monotonic(self):
        """Return the time."""
        return self.now_s

    def sleep(self, duration_s):
        """Let time pass."""
        self.now_s += duration_s


class StandingMemory:
    """A rank that is in its first call and stays there."""

    def __init__(self):
        self.progress = 1
        self.inside = 0

    def snapshot(self):
        """Return what the watch looks at."""
        return SimpleNamespace(
            head=1,
            progress=self.progress,
            inside=self.inside,
            polling=False,
            num_failed_polls=0,
        )

    def read(self, first):
        """Return a trace that nobody looks at."""
        return RankTrace(0, Calls.of(()), True, True, False, 0, False, 1, 0, False)


@pytest.fixture
def standing(monkeypatch):
    """Return a watch of one standing rank, its clock and when it was examined.

    `lasts_s[0]` says how long that takes.
    """
    clock, examined_s, lasts_s, memory = Clock(), [], [0.0], StandingMemory()

    def find(trace, returned, makes_progress):
        examined_s.append(round(clock.now_s - 100, 2))
        clock.now_s += lasts_s[0]

    monkeypatch.setattr(watch, "time", clock)
    monkeypatch.setattr(watch, "stalled_run", find)
    files = SimpleNamespace(
        trace=memory,
        output_num_bytes=lambda: 0,
        stacks_num_bytes=lambda: len(dumped),
        place=lambda folder: ("work.py", 29),
        forget_stacks=lambda: None,
    )
    dumped, told = [], []
    server = SimpleNamespace(excess=lambda: None, dump_stacks=dumped.append)
    looking = watch.Watch(
        [files],
        server,
        Path(),
        Limits(),
        makes_progress=True,
        on_silent=lambda rank, place: told.append((round(clock.now_s - 100, 2), rank, place)),
    )
    return SimpleNamespace(
        watch=looking,
        clock=clock,
        examined_s=examined_s,
        lasts_s=lasts_s,
        memory=memory,
        told=told,
    )


def look_for(standing, duration_s):
    """Look at each tick, for so long."""
    until_s = standing.clock.now_s + duration_s
    while standing.clock.now_s < until_s:
        standing.watch.look(frozenset())
        standing.clock.now_s += TICK_S


def test_a_short_trace_is_examined_at_every_tick_from_half_a_second_on(standing):
    """So that a deadlock is found at once."""
    look_for(standing, 1.99)
    assert standing.examined_s[0] == pytest.approx(0.5, abs=2 * TICK_S)
    assert len(standing.examined_s) == pytest.approx(1.5 / TICK_S, abs=2)


def test_a_long_trace_is_examined_in_a_quarter_of_the_time_at_most(standing):
    """Also of a rank that moves on again and again; what it does else would have to wait."""
    standing.lasts_s[0] = 2.0
    look_for(standing, 60)
    assert 0.2 * 60 < 2.0 * len(standing.examined_s) <= 0.25 * 60 + 2.0
    standing.examined_s.clear()
    for _ in range(60):
        standing.memory.progress += 1
        look_for(standing, 1.0)
    assert 2.0 * len(standing.examined_s) <= 0.25 * 180


def test_the_next_case_is_examined_without_a_pause(standing):
    """What the last one had cost is not its fault."""
    standing.lasts_s[0] = 20.0
    look_for(standing, 1.0)
    standing.watch.begin_case()
    began_s = standing.clock.now_s - 100
    look_for(standing, 1.0)
    assert len(standing.examined_s) == 2
    assert standing.examined_s[1] == pytest.approx(began_s + 0.5, abs=2 * TICK_S)


def test_a_rank_that_computes_for_five_seconds_is_told_of_once_a_case(standing):
    """With its line; one that waits in MPI, or moves on, does not compute for long."""
    standing.watch.begin_case(tells_of_silent=True)
    look_for(standing, 20)
    assert not standing.told
    standing.memory.inside = -1
    for _ in range(10):
        standing.memory.progress += 1
        look_for(standing, 2)
    assert not standing.told
    look_for(standing, 30)
    assert standing.told == [(pytest.approx(43.1, abs=0.3), 0, ("work.py", 29))]
    standing.watch.begin_case(tells_of_silent=True)
    look_for(standing, 4)
    assert len(standing.told) == 1
    look_for(standing, 4)
    assert len(standing.told) == 2
    standing.watch.end_case()
    look_for(standing, 20)
    assert len(standing.told) == 2

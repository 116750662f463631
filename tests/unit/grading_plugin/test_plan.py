"""Inputs that nobody can know: another for every case of every suite, the same at a regrade."""

import base64
import contextlib
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader import api
from grader.course.courses import bundled
from grader.grading import pipeline
from grader.grading.settings import Settings
from grader.grading_plugin import plan, session, timing
from grader.grading_plugin.case import Case
from grader.grading_plugin.launch_results import Launch
from grader.grading_plugin.plan import case_calls
from grader.grading_plugin.plugin_base import Asked, SuiteMode
from grader.observe.run_control import connections
from grader.observe.run_control.rank_messages import encode
from grader.recording.launch_plan import CaseCall

SECRET = b"canary-of-the-course-secret"
MIN_NUM_ELEMENTS = 8


def calls_of(assignment: str, asked: "Asked | Put", secret: bytes = SECRET) -> tuple[CaseCall, ...]:
    if isinstance(asked, Put):
        return asked.given
    return case_calls(
        asked.cases,
        asked.ranks,
        secret=secret,
        assignment=assignment,
        part=asked.part,
        suite=asked.suite,
        standalone=asked.standalone,
        backend=asked.backend or "the part's",
    )


class NoLaunch(Launch):
    """A launch that never took place: a test goes on as if it had looked at every case."""

    def having(self, **_: Any) -> "NoLaunch":
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())


class Listener(SuiteMode):
    """Starts no ranks: remembers what the tests ask for, and gives them no case to look at."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Asked] = []

    def launch(self, item: pytest.Item, asked: Asked) -> Launch:
        self.asked.append(asked)
        return NoLaunch(asked.cases, (), frozenset(), asked.ranks)

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Run every test, whatever became of those it requires."""


def every_attempt(measure: Callable[[int], Launch], **_: Any) -> None:
    for attempt in range(timing.MAX_ATTEMPTS):
        measure(attempt)


def launches(assignment: str, options: tuple[str, ...] = ()) -> list[Asked]:
    """Return every launch of an assignment's suites, those of repeated timing as well."""
    found = []
    for part in bundled().load(assignment).parts:
        suite = bundled().suites / assignment / part.suite
        listener = Listener()
        session.run_pytest(suite, listener, options=options)
        found += listener.asked
    return found


@pytest.fixture(scope="module")
def launches_by_assignment() -> dict[str, list[Asked]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api, "assert_time_ratio", every_attempt)
        return {name: launches(name) for name in bundled().names()}


@dataclass(frozen=True)
class Put:
    """One launch of a grading, with what its ranks were given."""

    part: str
    given: tuple[CaseCall, ...]


@pytest.fixture(scope="module")
def launches_after_right_answers(ranks) -> list[Put]:
    """Launches that hurt messages: which ones, only the messages of a right answer tell."""
    put = []

    def recorded(cases: tuple[Case, ...], ranks: int, **names: Any) -> tuple[CaseCall, ...]:
        calls = case_calls(cases, ranks, **names)
        if any(case.message_fault is not None for case in cases):
            put.append(Put(names["part"], calls))
        return calls

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "case_calls", recorded)
        pipeline.grade(
            bundled().references / "mpi_sgd",
            assignment="mpi_sgd",
            settings=Settings(secret=SECRET, launch=ranks.launcher("mpi_sgd")),
        )
    return put


def telling_arrays(calls: tuple[CaseCall, ...]) -> Iterator[tuple[str, bytes]]:
    """Yield (label, bytes) of every array or seed that two cases cannot share by chance."""
    for call in calls:
        for given in call.inputs:
            for value in map(np.asarray, given.values()):
                is_long = value.dtype.kind in "fiub" and value.size >= MIN_NUM_ELEMENTS
                is_seed = value.shape == () and value.dtype.kind in "iu" and value > 1 << 40
                if is_seed or (is_long and np.unique(value).size >= MIN_NUM_ELEMENTS):
                    yield call.label, value.tobytes()


def test_no_two_cases_of_any_suite_share_an_array(
    launches_by_assignment, launches_after_right_answers
):
    """Whatever was seen or kept of one case is worth nothing in any other."""
    assert launches_after_right_answers
    cases_by_array = defaultdict(set)
    for assignment, asked in [
        *launches_by_assignment.items(),
        ("mpi_sgd", launches_after_right_answers),
    ]:
        for number, launch in enumerate(asked):
            for label, array in telling_arrays(calls_of(assignment, launch)):
                cases_by_array[array].add((assignment, launch.part, number, label))
    shared = [sorted(cases) for cases in cases_by_array.values() if len(cases) > 1]
    assert len(cases_by_array) > 1500
    assert not shared, shared[:3]


def test_a_timing_that_is_repeated_is_another_launch(launches_by_assignment):
    """So that its inputs, too, fall under the test above."""
    timed = [
        launch
        for launch in launches_by_assignment["mpi_sgd"]
        if launch.part == "ring_allreduce" and any("timing" in each.label for each in launch.cases)
    ]
    assert len(timed) == timing.MAX_ATTEMPTS


def test_a_regrade_gets_the_same_inputs_and_another_secret_other_ones(launches_by_assignment):
    """The secret and the name of the launch decide, and nothing else."""
    for assignment, asked in launches_by_assignment.items():
        for launch in asked[:3]:
            once = list(telling_arrays(calls_of(assignment, launch)))
            assert once == list(telling_arrays(calls_of(assignment, launch)))
            other = {array for _, array in telling_arrays(calls_of(assignment, launch, b"another"))}
            assert not other & {array for _, array in once}


def test_the_inputs_do_not_depend_on_which_tests_are_selected(launches_by_assignment):
    """One test of a suite alone gets what it gets among all the others."""
    found = launches_by_assignment["mpi_sgd"]
    everything = {each for launch in found for each in telling_arrays(calls_of("mpi_sgd", launch))}
    alone = launches("mpi_sgd", ("-k", "test_calls_do_not_block"))
    some = {each for launch in alone for each in telling_arrays(calls_of("mpi_sgd", launch))}
    assert some
    assert some < everything


CHUNK_NUM_BYTES = 16 << 20


def descendants() -> set[int]:
    """Return the processes that this one has started, and those that they have."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            found = re.search(r"^PPid:\t(\d+)$", status.read_text(), re.MULTILINE)
            parents[int(status.parent.name)] = int(found[1]) if found else 0
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return ours - {os.getpid()}


def held_by(pid: int) -> Iterator[bytes]:
    """Yield what a process was started with, and its memory piece by piece."""
    for name in ("cmdline", "environ"):
        with contextlib.suppress(OSError):
            yield Path(f"/proc/{pid}/{name}").read_bytes()
    with (
        contextlib.suppress(OSError),
        Path(f"/proc/{pid}/maps").open() as maps,
        Path(f"/proc/{pid}/mem").open("rb", 0) as memory,
    ):
        for line in maps:
            first, last = (int(each, 16) for each in line.split()[0].split("-"))
            if line.split()[1].startswith("rw"):
                for start in range(first, last, CHUNK_NUM_BYTES):
                    with contextlib.suppress(OSError):
                        memory.seek(start)
                        yield memory.read(min(CHUNK_NUM_BYTES, last - start))


def test_the_secret_never_leaves_the_judge(monkeypatch):
    """No frame to a rank carries it, and no process that the judge has started holds it."""
    sent = []
    found = set()
    told = b"OMPI_COMM_WORLD_RANK"

    def listening(kind: str, *content: Any) -> list[bytes]:
        frame = encode(kind, *content)
        if "searched" not in found and kind != "hello" and b"reduce_once" in frame[1]:
            found.add("searched")
            for pid in descendants():
                for piece in held_by(pid):
                    found.update({text for text in (SECRET, told) if text in piece})
        sent.extend(frame)
        return frame

    monkeypatch.setattr(connections, "encode", listening)
    pipeline.grade(
        bundled().references / "mpi_sgd",
        assignment="mpi_sgd",
        parts=["naive_allreduce"],
        settings=Settings(secret=SECRET),
    )
    assert found == {"searched", told}
    everything = b"".join(sent)
    for form in (SECRET, SECRET.hex().encode(), base64.b64encode(SECRET)):
        assert form not in everything


@dataclass(frozen=True)
class Timed(Case):
    probe: str = "call"
    purpose: str = "values"

    @property
    def label(self) -> str:
        return self.purpose

    def inputs(self, random: Any, ranks: int, data: Any) -> list[dict[str, Any]]:
        return [{} for _ in range(ranks)]

    def results(self, rank: int, ranks: int) -> dict[str, Any]:
        return {}


def test_of_what_is_compared_the_machines_part_is_measured():
    """Else times would be compared by the clock, and nothing would tell."""
    cases = tuple(Timed(purpose=purpose) for purpose in ("values", "yardstick", "timing"))
    calls = case_calls(cases, 2, secret=SECRET, assignment="a", part="p")
    assert [call.is_timed for call in calls] == [False, True, True]

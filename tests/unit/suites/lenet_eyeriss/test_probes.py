"""What a student returns becomes numbers, or one clear sentence; never a crash of the probe."""

import contextlib
import re
from collections import namedtuple
from collections.abc import Iterator
from itertools import repeat
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from lenet_eyeriss.eyeriss_cases import CONVOLUTIONS, COUNTS
from lenet_eyeriss.schedule import works

from grader.course.courses import bundled
from grader.rank import probe_modules

IFMAP, KERNEL = np.array([[1, 3, 9], [4, 5, 6], [7, 4, 9]]), np.array([[-1, 2], [2, -1]])
OFMAP = [[8, 19], [16, 6]]
Operation = namedtuple(
    "Operation",
    "cycle pe_row pe_col op out_col value kernel ifmap tap psum_from",
    defaults=[None] * 4,
)
MULTIPLY = Operation(1, 0, 0, "multiply", 0, -1, kernel=(0, 0), ifmap=(0, 0))


class FakeStudent:
    """Has one function, whatever is asked for."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def function(self, file: str, name: str) -> Any:
        return self._function

    @contextlib.contextmanager
    def phase(self) -> Iterator[None]:
        yield


@pytest.fixture
def probes() -> ModuleType:
    return probe_modules.load(bundled().load("lenet_eyeriss").probe_sources())


@pytest.fixture
def reported(probes):
    """Return what the probe makes of an answer."""

    def report(answer: Any) -> dict[str, Any]:
        student = FakeStudent(lambda ifmap, kernel: answer)
        return probes.run_dataflow(student, None, file="eyeriss.py", ifmap=IFMAP, kernel=KERNEL)

    return report


@pytest.mark.parametrize(
    "record",
    [
        MULTIPLY,
        tuple(MULTIPLY),
        (1, 0, 0, "multiply", 0, -1, (0, 0), (0, 0)),
        [np.int64(1), 0.0, 0, "multiply", 0, -1.0, [0, 0], np.array([0, 0])],
        MULTIPLY._asdict(),
        SimpleNamespace(**MULTIPLY._asdict()),
    ],
    ids=["Operation", "tuple", "short tuple", "numpy", "dict", "object"],
)
def test_a_record_may_have_any_reasonable_form(reported, record) -> None:
    found = reported((OFMAP, [record]))
    assert not any(told for name, told in found.items() if name.endswith("problem"))
    (work,) = works(found["schedule"], found["values"])
    assert (work.cycle, work.pe, work.op, work.out_col) == (1, (0, 0), "multiply", 0)
    assert (work.kernel, work.ifmap, work.value) == ((0, 0), (0, 0), -1.0)


def test_each_operation_keeps_its_own_operands_only(reported) -> None:
    add = Operation(3, 0, 0, "add", 0, 5, kernel=(7, 7), tap=1)
    psum = Operation(4, 0, 0, "psum", 0, 8, tap=9, psum_from=(1, 0))
    found = reported((np.array(OFMAP), iter([add, psum])))
    first, second = works(found["schedule"], found["values"])
    assert (first.kernel, first.tap, first.psum_from) == ((-1, -1), 1, (-1, -1))
    assert (second.tap, second.psum_from, second.value) == (-1, (1, 0), 8.0)


@pytest.mark.parametrize(
    "what, answer, told",
    [
        ("ofmap", None, r"row_stationary returns None; expected the pair \(ofmap, schedule\)"),
        ("ofmap", np.array(OFMAP), "row_stationary returns array.*expected the pair"),
        ("ofmap", ([[1, 2], [3]], []), "The ofmap is .*expected a matrix of numbers"),
        (
            "ofmap",
            ([1, 2], []),
            r"The ofmap is \[1, 2\] \(list\) of shape \(2,\); expected a matrix",
        ),
        ("ofmap", (None, []), "The ofmap is None.*expected a matrix of numbers"),
        ("schedule", None, r"row_stationary returns None; expected the pair \(ofmap, schedule\)"),
        ("schedule", np.array(OFMAP), "row_stationary returns array.*expected the pair"),
        ("schedule", (OFMAP, {1: []}), "The schedule is {1:.*expected a list of Operation"),
        ("schedule", (OFMAP, 28), r"The schedule is 28 \(int\); expected a list of Operation"),
        ("schedule", (OFMAP, repeat(MULTIPLY)), "The schedule has more than 20000 operations"),
        ("schedule", (OFMAP, [3]), r"schedule\[0\] is 3 \(int\); expected an Operation"),
        ("schedule", (OFMAP, [(1, 0, 0, "multiply")]), r"schedule\[0\] .* lacks out_col, value"),
        (
            "schedule",
            (OFMAP, [MULTIPLY._replace(op="mac")]),
            r"op is 'mac' \(str\); expected one of",
        ),
        ("schedule", (OFMAP, [MULTIPLY._replace(op=3)]), "op is 3"),
        (
            "schedule",
            (OFMAP, [MULTIPLY._replace(cycle="1")]),
            "cycle is '1' .*expected a whole number",
        ),
        ("schedule", (OFMAP, [MULTIPLY._replace(cycle=1.5)]), "cycle is 1.5"),
        ("schedule", (OFMAP, [MULTIPLY._replace(cycle=float("nan"))]), "cycle is nan"),
        ("schedule", (OFMAP, [MULTIPLY._replace(cycle=10**30)]), "cycle is 1000"),
        ("schedule", (OFMAP, [MULTIPLY._replace(pe_row=None)]), "pe_row is None"),
        ("schedule", (OFMAP, [MULTIPLY._replace(value=None)]), "value is None; expected a number"),
        ("operands", None, r"row_stationary returns None; expected the pair \(ofmap, schedule\)"),
        ("operands", np.array(OFMAP), "row_stationary returns array.*expected the pair"),
        (
            "operands",
            (OFMAP, [MULTIPLY._replace(kernel=None)]),
            '"multiply" needs kernel, but kernel is None',
        ),
        (
            "operands",
            (OFMAP, [MULTIPLY._replace(ifmap=3)]),
            '"multiply" needs ifmap, but ifmap is 3',
        ),
        ("operands", (OFMAP, [MULTIPLY._replace(op="add")]), '"add" needs tap, but tap is None'),
        (
            "operands",
            (OFMAP, [MULTIPLY._replace(op="psum")]),
            '"psum" needs psum_from, but psum_from is None',
        ),
    ],
)
def test_what_is_malformed_gets_a_sentence(reported, what, answer, told) -> None:
    found = reported(answer)
    problem = found[f"{what}_problem"]
    assert re.search(told, problem), problem
    is_about_operands_alone = what == "operands" and not found["schedule_problem"]
    assert found["schedule"].shape == (int(is_about_operands_alone), 12)


def test_what_is_malformed_costs_nothing_else(reported) -> None:
    found = reported(([1, 2], [MULTIPLY]))
    assert found["ofmap_problem"] and not found["schedule_problem"] and len(found["schedule"]) == 1
    found = reported((OFMAP, [3]))
    assert found["schedule_problem"] and not found["ofmap_problem"]
    assert found["ofmap"].tolist() == OFMAP


def test_results_have_the_form_that_the_case_announces(reported, probes) -> None:
    for answer in ((OFMAP, [MULTIPLY]), None):
        found = reported(answer)
        assert set(found) == set(CONVOLUTIONS[1].results(0, 1))
        assert found["schedule"].dtype == np.int64
        assert found["values"].dtype == found["ofmap"].dtype == np.float64


def test_sequential_cycles_is_asked_for_every_shape(probes) -> None:
    case = COUNTS[1]
    (given,) = case.inputs(np.random.default_rng(1), 1, None)
    asked = []

    def sequential_cycles(ifmap_shape, kernel_shape):
        asked.append((*ifmap_shape, *kernel_shape))
        return np.int32(len(asked))

    found = probes.count_sequential_cycles(FakeStudent(sequential_cycles), None, **given)
    assert tuple(asked[:-1]) == case.shapes
    assert found["cycles"].tolist() == list(range(1, len(asked) + 1))
    assert found["problem"] == ""


def test_a_missing_count_is_said_and_does_not_end_the_part(probes) -> None:
    def unwritten(ifmap_shape, kernel_shape):
        raise NotImplementedError("eyeriss.py: this is still to be written")

    shapes = np.array([[3, 3, 2, 2]])
    for function, told in ((unwritten, "still to be written"), (lambda a, b: None, "None")):
        found = probes.count_sequential_cycles(
            FakeStudent(function), None, file="eyeriss.py", shapes=shapes
        )
        assert found["cycles"].tolist() == [-1]
        assert told in found["problem"]

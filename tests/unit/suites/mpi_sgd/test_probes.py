"""The probes give a network the scripted batches, and log what it was really trained on."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import mpi4py
import numpy as np
import pytest
from mpi_sgd import allreduce_cases, allreduce_numbers, fit_cases, serial
from mpi_sgd.fit_cases import Fit
from mpi_sgd.sync_cases import SEVERAL_EPOCHS, cases_by_ranks

from grader.api import NotProven
from grader.course.courses import bundled
from grader.rank import mpi_shim, probe_modules

from ...judge.build import outcome
from .outcomes import inputs_of, raising

ROOT = Path(__file__).parents[4]
FILE = "sync_network.py"


class FakeStudent:
    """Knows one class, whatever file is asked for."""

    def __init__(self, found: Any) -> None:
        self._found = found

    def function(self, file: str, name: str) -> Any:
        return self._found

    @contextlib.contextmanager
    def phase(self) -> Iterator[None]:
        yield


@pytest.fixture
def probes(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    # Loads MPI, as the ops need it, without starting it in the process that pytest runs in.
    monkeypatch.setattr(mpi4py.rc, "initialize", False)
    monkeypatch.setattr(mpi4py.rc, "finalize", False)
    return probe_modules.load(bundled().load("mpi_sgd").probe_sources())


@pytest.fixture
def network_class(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(ROOT / "reference" / "mpi_sgd"))
    import network

    yield network.NeuralNetwork
    for name in ("network", "utils"):
        sys.modules.pop(name, None)


def first_case() -> Fit:
    """Return one of several batches in several epochs."""
    cases = cases_by_ranks(FILE, has_messages=True)[2]
    return next(case for case in cases if case.group == SEVERAL_EPOCHS)


def test_the_support_network_trains_as_the_oracle_does(probes, network_class) -> None:
    for case in [first_case(), *cases_by_ranks(FILE, has_messages=True)[1]]:
        (given,) = inputs_of(case, ranks=1)
        found = probes.fit(FakeStudent(network_class), None, **given)
        rows = np.split(found["rows"], np.cumsum(found["rows_per_batch"])[:-1])
        batches = [(given["data"][batch], given["labels"][batch]) for batch in rows]
        expected = serial.train(given["start"], case.sizes, case.learning_rate, batches)
        held = serial.packed({name: found[name] for name in case.shapes}, case.sizes)
        np.testing.assert_allclose(held, expected, rtol=1e-10, atol=1e-12)


def test_the_batches_are_those_of_the_script_in_order(probes, network_class) -> None:
    case = first_case()
    (given,) = inputs_of(case, ranks=1)
    found = probes.fit(FakeStudent(network_class), None, **given)
    np.testing.assert_array_equal(
        found["rows"], given["script"][..., : case.mini_batch_size].ravel()
    )
    assert list(found["rows_per_batch"]) == [case.mini_batch_size] * case.num_steps


def test_what_is_returned_has_the_announced_form(probes, network_class) -> None:
    case = first_case()
    (given,) = inputs_of(case, ranks=1)
    found = probes.fit(FakeStudent(network_class), None, **given)
    announced = case.results(0, 1)
    assert set(found) == set(announced)
    for name, form in announced.items():
        array = np.asarray(found[name])
        assert array.dtype == np.dtype(form.dtype)
        assert all(
            wanted in (None, got) for wanted, got in zip(form.shape, array.shape, strict=True)
        )


def test_weights_are_recorded_as_each_forward_pass_saw_them(probes, network_class) -> None:
    case = first_case()
    (given,) = inputs_of(case, ranks=1)
    found = probes.fit(FakeStudent(network_class), None, **{**given, "record_weights": True})
    np.testing.assert_array_equal(found["seen"][0], given["start"])
    assert len(found["seen"]) == case.num_steps
    rows = found["rows"][: case.mini_batch_size]
    step = serial.gradient(given["start"], case.sizes, given["data"][rows], given["labels"][rows])
    after = given["start"] - case.learning_rate * step
    np.testing.assert_allclose(found["seen"][1], after, rtol=1e-12, atol=1e-14)


def test_validation_is_not_taken_for_training(probes, network_class) -> None:
    class Validating(network_class):
        def fit(self, training_data, validation_data=None):
            self.print_progress(validation_data, 0)
            self.validate(training_data)
            for x, y in self.create_batches(*training_data, 2)[:1]:
                self.forward_prop(x)
                self.back_prop(y)
            self.print_progress(validation_data, 1)

    (given,) = inputs_of(first_case(), ranks=1)
    found = probes.fit(FakeStudent(Validating), None, **given)
    assert list(found["rows_per_batch"]) == [2]
    np.testing.assert_array_equal(found["rows"], given["script"][0, 0, :2])


def test_inputs_that_are_no_rows_of_the_data_are_marked(probes, network_class) -> None:
    class Scaling(network_class):
        def fit(self, training_data, validation_data=None):
            for x, y in self.create_batches(*training_data, 2)[:1]:
                self.forward_prop(2 * x)
                self.back_prop(y)

    (given,) = inputs_of(first_case(), ranks=1)
    found = probes.fit(FakeStudent(Scaling), None, **given)
    assert list(found["rows"]) == [-1, -1]


def test_batches_of_a_slice_are_rows_of_the_slice(probes, network_class) -> None:
    class Slicing(network_class):
        def fit(self, training_data, validation_data=None):
            data, labels = (each[1::3] for each in training_data)
            super().fit((data, labels), validation_data)

    case = first_case()
    (given,) = inputs_of(case, ranks=1)
    found = probes.fit(FakeStudent(Slicing), None, **given)
    assert list(found["rows_per_batch"]) == [case.mini_batch_size] * case.num_steps
    of_slice = [[row for row in order if row % 3 == 1] for order in given["script"][0].tolist()]
    first = [rows[: case.mini_batch_size] for rows in of_slice]
    np.testing.assert_array_equal(found["rows"][: np.size(first)], np.ravel(first))
    num_rows = len(given["data"]) // 3
    assert list(found["rows_per_call"]) == [num_rows] * case.epochs
    assert set(found["passed"]) == set(range(1, len(given["data"]), 3))
    fit_cases.assert_own_batches(case, outcome(case, [given], [found]), [0])
    known = {**found, "passed": found["rows"][:16], "rows_per_call": np.array([16])}
    with raising(NotProven, "evidence.batches_not_created", rank=0):
        fit_cases.assert_own_batches(case, outcome(case, [given], [known]), [0])


def test_a_share_of_the_batches_is_what_number_of_batches_says(probes, network_class) -> None:
    class Sharing(network_class):
        def fit(self, training_data, validation_data=None):
            self.number_of_batches = 2
            super().fit(training_data, validation_data)

    case = first_case()
    (given,) = inputs_of(case, ranks=1)
    found = probes.fit(FakeStudent(Sharing), None, **given)
    assert len(found["rows_per_batch"]) == 2 * case.epochs
    np.testing.assert_array_equal(
        found["rows"].reshape(case.epochs, 2, case.mini_batch_size),
        given["script"][:, :2, : case.mini_batch_size],
    )


def test_training_after_finalize_is_refused_and_validation_is_not(probes, network_class) -> None:
    from mpi4py import MPI

    class Late(network_class):
        def fit(self, training_data, validation_data=None):
            self.print_progress(validation_data, 0)
            for x, _y in self.create_batches(*training_data, 2):
                self.forward_prop(x)

    (given,) = inputs_of(first_case(), ranks=1)
    shared = mpi_shim.SharedMPI(MPI)
    shared.Init()
    shared.Finalize()
    with (
        mock.patch.object(mpi4py, "MPI", shared),
        pytest.raises(RuntimeError, match=r"continued training after MPI.Finalize\(\)"),
    ):
        probes.fit(FakeStudent(Late), None, **given)


def test_a_list_of_nones_is_named_with_the_ring_that_returned_them(probes, network_class) -> None:
    class Adding(network_class):
        def fit(self, training_data, validation_data=None):
            sums = [ringallreduce() for _ in range(2)]
            self.weights = [w - self.eta * s for w, s in zip(self.weights, sums, strict=False)]

    def ringallreduce() -> None:
        """Write into recv, as a ring does."""

    (given,) = inputs_of(first_case(), ranks=1)
    with pytest.raises(TypeError, match=r"NoneType'; sums contains None$"):
        probes.fit(FakeStudent(Adding), None, **given)
    Adding.fit.__globals__["ringallreduce"] = ringallreduce
    try:
        with pytest.raises(TypeError, match="sums contains None, because ringallreduce returns"):
            probes.fit(FakeStudent(Adding), None, **given)
    finally:
        del Adding.fit.__globals__["ringallreduce"]


def test_an_all_reduce_gets_garbage_in_recv_and_its_send_back(probes) -> None:
    def adds_one_rank(send, recv, comm, op) -> None:
        assert (recv == 777).all()
        recv[...] = op(send, np.zeros_like(send))

    send = np.arange(6.0).reshape(2, 3)
    found = probes.reduce_once(
        FakeStudent(adds_one_rank), None, file="", function="", send=send, fill=777, op="np.add"
    )
    np.testing.assert_array_equal(found["recv"], send)
    np.testing.assert_array_equal(found["send"], np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize("way", ["returned", "renamed", "written", "nothing"])
def test_a_result_that_is_not_written_into_recv_is_looked_for(probes, way: str) -> None:
    def all_reduce(send, recv, comm, op):
        result = op(send, send)
        if way == "written":
            recv[...] = result
        elif way == "renamed":
            recv = result
        return result if way == "returned" else None

    send = np.arange(6.0).reshape(2, 3)
    found = probes.reduce_watched(
        FakeStudent(all_reduce), None, file="", function="", send=send, fill=777, op="np.add"
    )
    expected = 2 * send.reshape(-1) if way in ("returned", "renamed") else np.zeros(0)
    np.testing.assert_array_equal(found["meant"], expected)
    assert (found["recv"] == (2 * send if way == "written" else 777)).all()
    assert sys.getprofile() is None


def test_calls_in_a_row_get_their_own_arrays_and_late_sends(probes, monkeypatch) -> None:
    """Of a communicator that sends late the other calls are those of any."""
    naps = []
    monkeypatch.setattr(probes.reducing.time, "sleep", naps.append)
    monkeypatch.setattr(probes.reducing, "_late_communicator", lambda comm: comm)

    class Comm:
        sends_until_late = None

    seen = []

    def all_reduce(send, recv, comm, op) -> None:
        assert (recv == 777).all()
        seen.append((send.copy(), comm.sends_until_late))
        recv[...] = send

    sends = np.arange(12.0).reshape(3, 4)
    student = FakeStudent(all_reduce)
    student.outside = student.phase
    found = probes.reduce_in_a_row(
        student,
        Comm(),
        file="",
        function="",
        sends=sends,
        fill=777,
        op="np.add",
        late_calls=np.array([0, 1, 0]),
        late_sends=np.array([-1, 2, -1]),
    )
    np.testing.assert_array_equal(found["recvs"], sends)
    assert [late for _, late in seen] == [-1, 2, -1]
    assert len(naps) == 1


def test_a_group_has_half_of_the_ranks_the_last_one_first(probes) -> None:
    asked = []

    class Comm:
        def Get_rank(self) -> int:  # noqa: N802 - MPI's name
            return 3

        def Split(self, color: int, key: int) -> str:  # noqa: N802 - MPI's name
            asked.append((color, key))
            return "group"

    def all_reduce(send, recv, comm, op) -> None:
        assert comm == "group"
        recv[...] = send

    send = np.arange(4.0)
    found = probes.reduce_in_groups(
        FakeStudent(all_reduce), Comm(), file="", function="", send=send, fill=777, op="np.add"
    )
    assert asked == [(1, -3)]
    np.testing.assert_array_equal(found["recv"], send)


def test_a_long_array_is_drawn_from_the_seed_and_reduced_once(probes) -> None:
    calls = []

    def adds_one_rank(send, recv, comm, op) -> None:
        calls.append(send.copy())
        recv[...] = op(send, np.zeros_like(send))

    work = {"seed": 5, "length": 1000, "op": "np.add"}
    found = probes.reduce_long(FakeStudent(adds_one_rank), None, file="", function="", **work)
    (send,) = calls
    np.testing.assert_array_equal(send, allreduce_cases.long_array(5, 1000))
    np.testing.assert_array_equal(found["recv"], send)
    assert (send != send.astype(np.float32)).any()
    assert (send != np.floor(send)).all()


@pytest.mark.parametrize("op", allreduce_numbers.DRAWN)
def test_an_op_has_the_number_that_was_drawn(probes, op: str) -> None:
    def doubles(send, recv, comm, op) -> None:
        recv[...] = op(send, send)

    send = np.arange(6)
    found = probes.reduce_drawn(
        FakeStudent(doubles), None, file="", function="", send=send, fill=777, op=op, drawn=5
    )
    np.testing.assert_array_equal(found["recv"], allreduce_numbers.DRAWN[op](5, send, send))


@pytest.mark.parametrize(
    ("name", "meant"),
    [("Isned", "Isend"), ("ISend", "Isend"), ("irecv_", "irecv"), ("Wait_all", "Waitall")],
)
def test_a_misspelt_name_is_taken_for_what_is_most_like_it(probes, name: str, meant: str) -> None:
    names = ["Irecv", "Isend", "Recv", "Send", "Waitall", "irecv", "isend"]
    assert probes.mending._nearest(name, names) == meant
    for other in ("Allreduce", f"__{name}"):
        with pytest.raises(AttributeError):
            probes.mending._nearest(other, names)


@pytest.mark.parametrize("name", ["np.add", "MPI.SUM", "lambda x, y: x + y + x * y", "np.maximum"])
def test_ops_reduce_arrays_of_any_dimension(probes, name: str) -> None:
    x, y = np.arange(6.0).reshape(2, 3), np.ones((2, 3))
    found = probes.reducing._operations()[name](x, y)
    np.testing.assert_array_equal(found, allreduce_numbers.SERIAL[name](x, y))

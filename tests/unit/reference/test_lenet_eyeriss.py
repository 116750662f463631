"""Tests of what lenet_eyeriss gives its students, and of its solutions, without the engine."""

import importlib
import itertools
import os
import queue
import re
import subprocess
import sys
import threading
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).parents[3]
REFERENCE = ROOT / "reference" / "lenet_eyeriss"
SUPPORT = ROOT / "grader" / "course" / "support"
MODULES = ("lenet", "dataflow", "images", "train", "allreduce", "ring_allreduce", "eyeriss")
IFMAP = np.array([[1, 3, 9], [4, 5, 6], [7, 4, 9]])
KERNEL = np.array([[-1, 2], [2, -1]])


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch):
    """Return a function that imports a module anew; let go of the common names afterwards."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(SUPPORT)
    monkeypatch.syspath_prepend(REFERENCE)
    monkeypatch.delenv("GRADER_DATA", raising=False)
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module
    for name in MODULES:
        sys.modules.pop(name, None)


class FakeProcesses:
    """Stands in for torch.distributed: ranks are threads, messages go through queues.

    As in gloo, a blocking send returns when the message has been received.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._here = threading.local()
        pairs = itertools.product(range(size), repeat=2)
        # All at once: of two threads that make one each, one would wait at another than the other.
        self._boxes = {pair: queue.Queue() for pair in pairs}
        self.sent = [[] for _ in range(size)]
        """For each rank (destination, number of elements, blocking) of each message."""

    def get_rank(self):
        return self._here.rank

    def get_world_size(self):
        return self._size

    def send(self, tensor, dst):
        assert self._post(tensor, dst, blocking=True).wait(60)

    def recv(self, tensor, src):
        self._take(tensor, src, self._here.rank)

    def isend(self, tensor, dst):
        return self._post(tensor, dst, blocking=False)

    def irecv(self, tensor, src):
        arrived = threading.Event()

        def take(rank):
            self._take(tensor, src, rank)
            arrived.set()

        threading.Thread(target=take, args=(self._here.rank,), daemon=True).start()
        return arrived

    def _take(self, tensor, src, rank):
        message, received = self._boxes[src, rank].get(timeout=60)
        tensor.copy_(message)
        received.set()

    def _post(self, tensor, dst, *, blocking):
        assert dst != self._here.rank
        self.sent[self._here.rank].append((dst, tensor.numel(), blocking))
        received = threading.Event()
        # Not copied: who changes an array before the wait is over changes the message too.
        self._boxes[self._here.rank, dst].put((tensor, received))
        return received

    def run(self, function, arguments):
        """Call function(argument of the rank) on every rank; raise what one of them raised."""
        errors = []

        def be(rank):
            self._here.rank = rank
            try:
                function(arguments[rank])
            except BaseException as error:
                errors.append(error)

        threads = [
            threading.Thread(target=be, args=(rank,), daemon=True) for rank in range(self._size)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(90)
        assert not any(thread.is_alive() for thread in threads)
        if errors:
            raise errors[0]


def models_with_gradients(size):
    """Return a small model for each rank, and each parameter's gradients by rank."""
    import torch
    from torch import nn

    random = np.random.default_rng(size)
    models = [nn.Sequential(nn.Conv2d(1, 3, 2), nn.Linear(5, 1)) for _ in range(size)]
    for model in models:
        for parameter in model.parameters():
            parameter.grad = torch.tensor(random.normal(size=parameter.shape), dtype=torch.float32)
    gradients = [
        np.array([parameter.grad.numpy().copy() for parameter in parameters])
        for parameters in zip(*(model.parameters() for model in models), strict=True)
    ]
    return models, gradients


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("method", ["allreduce", "ring_allreduce"])
def test_every_process_ends_with_the_same_mean(given, method, size):
    """Also with tensors shorter than the ring, and lengths that no ring divides."""
    module = given(method)
    models, gradients = models_with_gradients(size)
    module.dist = FakeProcesses(size)

    module.dist.run(module.average_gradients, models)

    for index, by_rank in enumerate(gradients):
        found = [list(model.parameters())[index].grad.numpy() for model in models]
        np.testing.assert_allclose(found[0], by_rank.mean(axis=0), rtol=1e-5, atol=1e-7)
        for other in found[1:]:
            np.testing.assert_array_equal(other, found[0])


@pytest.mark.parametrize("size", [2, 3, 4, 8])
def test_the_ring_sends_its_share_to_the_right_only(given, size):
    module = given("ring_allreduce")
    models, gradients = models_with_gradients(size)
    module.dist = FakeProcesses(size)
    module.dist.run(module.average_gradients, models)

    length = sum(by_rank[0].size for by_rank in gradients)
    numbers = [sum(number for _, number, _ in sent) for sent in module.dist.sent]
    assert sum(numbers) == 2 * (size - 1) * length
    assert max(numbers) <= 2 * (size - 1) * -(-length // size)
    for rank, sent in enumerate(module.dist.sent):
        assert {dst for dst, _, _ in sent} == {(rank + 1) % size}
        assert not any(blocking for _, _, blocking in sent)


def test_lenet_has_the_papers_sizes(given):
    import torch

    model = given("lenet").LeNet5()
    numbers = {name: parameter.numel() for name, parameter in model.named_parameters()}
    assert numbers["c1.weight"] + numbers["c1.bias"] == 156
    assert numbers["c5.weight"] + numbers["c5.bias"] == 48120
    assert numbers["f6.weight"] + numbers["f6.bias"] == 10164
    assert sum(numbers.values()) == 61706
    images = torch.zeros(2, 1, 28, 28)
    assert model.s2(model.c1(images)).shape == (2, 6, 14, 14)
    assert model.s4(model.c3(model.s2(model.c1(images)))).shape == (2, 16, 5, 5)
    assert model(images).shape == (2, 10)


def test_the_parts_are_equal_disjoint_and_the_same_each_time(given):
    train = given("train")
    training, test = train.load_examples()
    again, _ = train.load_examples()
    assert training[0].shape == (100, 1, 28, 28)
    assert training[0].min() >= 0
    assert training[0].max() <= 1
    assert (training[0] == again[0]).all()
    assert len(test[1]) == 500
    parts = [train.part_of(training, rank, 4) for rank in range(4)]
    assert [len(labels) for _, labels in parts] == [25] * 4
    joined = np.concatenate([images.numpy() for images, _ in parts])
    np.testing.assert_array_equal(joined, training[0].numpy())


def second_epochs(output: str) -> list[str]:
    """Return what each method says of epoch 2, without the time."""
    return re.findall(r"^ +2 +([0-9.]+ +[0-9.]+% +[0-9.]+%)", output, re.MULTILINE)


def test_both_launchers_and_both_methods_train_alike():
    """torch.multiprocessing.spawn and torchrun, with real processes."""
    study = ["train.py", "study", "--epochs", "2", "--every", "1"]
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = {**os.environ, "PYTHONPATH": str(SUPPORT), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("GRADER_DATA", None)
    said = []
    for arguments in ([*study, "--processes", "2"], [*torchrun, *study]):
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=REFERENCE,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        said += second_epochs(done.stdout)
    assert len(said) == 4
    assert len(set(said)) == 1


def test_the_schedule_of_the_sheets_example_is_the_normative_table(given):
    """Worked out by hand: what each of the four elements makes in cycles 1 to 8."""
    ofmap, schedule = given("eyeriss").row_stationary(IFMAP, KERNEL)
    assert ofmap.tolist() == [[8, 19], [16, 6]]
    by_element = defaultdict(dict)
    for record in schedule:
        by_element[record.pe_row, record.pe_col][record.cycle] = (record.op, int(record.value))
    full = ["multiply", "multiply", "add", "psum"] * 2
    short = ["multiply", "multiply", "add"] * 2
    for element, ops, values in (
        ((0, 0), full, [-1, 6, 5, 8, -3, 18, 15, 19]),
        ((0, 1), full, [-4, 10, 6, 16, -5, 12, 7, 6]),
        ((1, 0), short, [8, -5, 3, 10, -6, 4]),
        ((1, 1), short, [14, -4, 10, 8, -9, -1]),
    ):
        expected = dict(enumerate(zip(ops, values, strict=True), start=1))
        assert by_element[element] == expected


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (2, 1), (2, 3), (3, 2), (4, 4)])
@pytest.mark.parametrize("out", [(1, 1), (3, 1), (1, 4), (2, 3)])
def test_latency_and_operations_follow_the_closed_forms(given, shape, out):
    eyeriss = given("eyeriss")
    (rows, taps), (out_rows, out_cols) = shape, out
    random = np.random.default_rng(7)
    ifmap = random.integers(-9, 10, (rows + out_rows - 1, taps + out_cols - 1))
    kernel = random.integers(-9, 10, shape)
    ofmap, schedule = eyeriss.row_stationary(ifmap, kernel)

    for (e, f), value in np.ndenumerate(ofmap):
        assert value == (kernel * ifmap[e : e + rows, f : f + taps]).sum()
    assert len(schedule) == out_rows * out_cols * (2 * rows * taps - 1)
    assert eyeriss.sequential_cycles(ifmap.shape, shape) == len(schedule)
    latency = 2 * taps * out_cols + max(0, rows - 2) if rows > 1 else (2 * taps - 1) * out_cols
    assert max(record.cycle for record in schedule) == latency
    busy = {(record.cycle, record.pe_row, record.pe_col) for record in schedule}
    assert len(busy) == len(schedule)


def test_the_table_shows_every_operation(given):
    dataflow, eyeriss = given("dataflow"), given("eyeriss")
    lines = dataflow.table(eyeriss.row_stationary(IFMAP, KERNEL)[1]).splitlines()
    assert lines[0].split("PE")[1:] == ["(0, 0)    ", "(0, 1)    ", "(1, 0)    ", "(1, 1)"]
    assert lines[8].split() == ["8", "++", "19", "++", "6"]
    assert dataflow.table([]) == "cycle"


def test_the_template_is_the_reference_without_its_solutions():
    """Nothing is left in the template that a student is asked to write."""
    for file in ("allreduce.py", "ring_allreduce.py", "eyeriss.py"):
        text = (ROOT / "student_template" / "lenet_eyeriss" / file).read_text()
        assert "NotImplementedError" in text
        assert "solution" not in text


def test_modules_are_found_where_they_should_be(given):
    """The fixture imports the reference's files, not others of the same name."""
    modules: list[ModuleType] = [given(name) for name in ("eyeriss", "dataflow")]
    assert [Path(module.__file__).parent for module in modules] == [REFERENCE] * 2

"""The probes note what a training really did, in whichever process it did it."""

import contextlib
import copy
import importlib
import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from psgd_hogwild import (
    digits_cases,
    hogwild_cases,
    hogwild_checks,
    layers,
    network_cases,
    psgd_cases,
    psgd_checks,
    recomputation,
    waiting_checks,
)
from psgd_hogwild.sources import LOCKS, SOLVERS
from torch import nn

from grader.api import Data, WrongAnswer
from grader.course.courses import bundled
from grader.rank import probe_modules

from .made_outcomes import inputs_of, outcome_of

ROOT = Path(__file__).parents[4]
REFERENCE = ROOT / "reference" / "psgd_hogwild"
MODULES = (
    *("images", "training", "observed", "record", "waiting"),
    *("network", "psgd", "hogwild"),
)


class FakeStudent:
    """The reference, or one function in its place."""

    def __init__(self, found: Any = None) -> None:
        self._found = found

    def module(self, file: str) -> ModuleType:
        return importlib.import_module(Path(file).stem)

    def function(self, file: str, name: str) -> Any:
        return self._found or getattr(self.module(file), name)

    @contextlib.contextmanager
    def phase(self) -> Iterator[None]:
        yield


class Alone:
    """A communicator of one rank."""

    def Get_rank(self):  # noqa: N802 - MPI's name
        return 0

    def Get_size(self):  # noqa: N802 - MPI's name
        return 1

    def Bcast(self, array, root):  # noqa: N802 - MPI's name
        pass

    def Allreduce(self, own, total, op):  # noqa: N802 - MPI's name
        total[...] = own


@pytest.fixture
def probes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    import mpi4py

    # psgd.py imports MPI; the process that pytest runs in is not to start it.
    monkeypatch.setattr(mpi4py.rc, "initialize", False)
    monkeypatch.setattr(mpi4py.rc, "finalize", False)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(ROOT / "grader" / "course" / "support")
    monkeypatch.syspath_prepend(REFERENCE)
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.chdir(tmp_path)
    yield probe_modules.load(bundled().load("psgd_hogwild").probe_sources())
    for name in MODULES:
        sys.modules.pop(name, None)


def assert_announced(found, announced) -> None:
    """Assert that a probe gives back exactly what its case says."""
    assert set(found) == set(announced)
    for name, form in announced.items():
        if isinstance(found[name], str):
            assert len(found[name]) <= form.max_num_chars
            continue
        array = np.asarray(found[name])
        assert array.dtype == np.dtype(form.dtype), name
        assert len(array.shape) == len(form.shape), name
        assert all(
            wanted in (None, got) for wanted, got in zip(form.shape, array.shape, strict=True)
        )


def test_one_rank_of_psgd_passes_every_check(probes) -> None:
    for case in psgd_cases.cases_of(1):
        (given,) = inputs_of(case)
        found = probes.train_psgd(FakeStudent(), Alone(), **given)
        assert_announced(found, case.results(0, 1))
        outcome = outcome_of(case, [given], [found])
        psgd_checks.assert_sgd(case, outcome)
        psgd_checks.assert_mean(case, outcome)
        psgd_checks.assert_parts_disjoint(case, outcome)
        psgd_checks.assert_parts_complete(case, outcome)
        psgd_checks.assert_plain_sgd_bit_for_bit(case, outcome)


def test_a_training_of_the_real_length_passes_every_check(probes) -> None:
    drawn, _ = psgd_cases.of_real_length()
    drawn = replace(drawn, most_epochs=40)
    (given,) = inputs_of(drawn)
    found = probes.train_psgd(FakeStudent(), Alone(), **{**given, "batch_s": 0.0})
    outcome = outcome_of(drawn, [given], [found])
    case = drawn.as_drawn(outcome)
    assert drawn.epochs <= case.epochs <= 40
    assert case.lr <= drawn.lr * drawn.epochs / case.epochs
    psgd_checks.assert_whole(case, outcome)


@pytest.mark.parametrize("function", ["psgd", "hogwild"])
def test_a_network_learns_the_digits(probes, function) -> None:
    case = digits_cases.Digits(function=function, num_processes=3 * (function == "hogwild"))
    (given,) = case.inputs(np.random.default_rng(0), 1, Data())
    found = probes.train_on_digits(FakeStudent(), Alone(), **given)
    assert_announced(found, case.results(0, 1))
    outcome = outcome_of(case, [given], [found])
    digits_cases.assert_network_learns(case, outcome)
    lazy = FakeStudent(lambda *all, **named: None)
    untrained = probes.train_on_digits(lazy, Alone(), **given)
    with pytest.raises(WrongAnswer, match="The loss of a network went from"):
        digits_cases.assert_network_learns(case, outcome_of(case, [given], [untrained]))
    two = outcome_of(case, [given] * 2, [found, {**found, "weights": untrained["weights"]}])
    with pytest.raises(WrongAnswer, match="Rank 1 ended with another network"):
        digits_cases.assert_network_learns(case, two)


def test_hogwild_passes_every_check(probes) -> None:
    for case in hogwild_cases.cases()[:2]:
        (given,) = inputs_of(case)
        found = probes.train_hogwild(FakeStudent(), None, **given)
        assert_announced(found, case.results(0, 1))
        outcome = outcome_of(case, [given], [found])
        hogwild_checks.assert_workers(case, outcome)
        hogwild_checks.assert_processes(case, outcome)
        hogwild_checks.assert_parts_disjoint(case, outcome)
        hogwild_checks.assert_parts_complete(case, outcome)
        hogwild_checks.assert_shared(case, outcome)
        hogwild_checks.assert_own_gradients(case, outcome)
        hogwild_checks.assert_all_steps_count(case, outcome)
        if case.meets:
            waiting_checks.assert_same_time(case, outcome)
            waiting_checks.assert_nobody_waits("[]")(case, outcome)
        else:
            hogwild_checks.assert_serial(case, outcome)


def test_a_hogwild_that_does_not_wait_for_its_processes_is_told(probes) -> None:
    import hogwild
    import torch.multiprocessing as mp

    def early(model, dataset, *, num_processes, **settings):
        model.share_memory()
        for number in range(num_processes):
            given = (model, dataset, number, num_processes)
            mp.Process(target=hogwild.train_part, args=given, kwargs=settings).start()
        return model

    case = hogwild_cases.cases()[0]
    (given,) = inputs_of(case)
    outcome = outcome_of(case, [given], [probes.train_hogwild(FakeStudent(early), None, **given)])
    hogwild_checks.assert_parts_complete(case, outcome)
    waiting_checks.assert_same_time(case, outcome)
    with pytest.raises(WrongAnswer, match="returned while its processes still trained"):
        hogwild_checks.assert_all_steps_count(case, outcome)


def test_hogwild_notices_a_process_that_fails(probes) -> None:
    (case,) = (each for each in hogwild_cases.cases() if each.fails)
    (given,) = inputs_of(case)
    found = probes.train_hogwild(FakeStudent(), None, **given)
    assert_announced(found, case.results(0, 1))
    waiting_checks.assert_failure_noticed(case, outcome_of(case, [given], [found]))
    assert found["raised"] == "RuntimeError: process 0 ended with exit code 1"


def test_the_reference_network_passes_every_check(probes) -> None:
    case = network_cases.Network(batch_size=2)
    (given,) = inputs_of(case)
    found = probes.run_network(FakeStudent(), None, **given)
    assert_announced(found, case.results(0, 1))
    outcome = outcome_of(case, [given], [found])
    as_layers = network_cases.Layers(batch_size=2)
    ran = probes.run_layers(FakeStudent(), None, **given)
    assert_announced(ran, as_layers.results(0, 1))
    for check in (
        network_cases.assert_all_layers,
        network_cases.assert_convolutional_half,
        network_cases.assert_classifying_half,
    ):
        check(as_layers, outcome_of(as_layers, [given], [ran]))
    network_cases.assert_output_follows(case, outcome)
    network_cases.assert_probabilities(case, outcome)
    network_cases.assert_dropout_only_in_training(case, outcome)
    with pytest.raises(WrongAnswer, match=r"has shape \(2, 10\); expected \(3, 10\)"):
        more = {**given, "images": given["images"].repeat(2, axis=0)[:3]}
        network_cases.assert_probabilities(case, outcome_of(case, [more], [found]))


@pytest.mark.parametrize(
    "pool",
    [
        {"kernel_size": 3, "stride": 2},
        {"kernel_size": 3, "stride": 2, "padding": 1},
        {"kernel_size": 3, "stride": 2, "ceil_mode": True},
        {"kernel_size": 2, "stride": 3},
        {"kernel_size": 1, "stride": 2},
    ],
)
@pytest.mark.parametrize("convolution", [{}, {"stride": 2, "padding": 1}, {"dilation": 2}])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_windows_and_softmax_are_those_of_torch(probes, pool, convolution, dim) -> None:
    """As the probe writes them down."""
    torch.manual_seed(1)
    network = nn.Sequential(
        nn.Conv2d(1, 4, 3, **convolution), nn.MaxPool2d(**pool), nn.Flatten(), nn.Softmax(dim)
    )
    images = torch.rand(2, 1, 28, 28)
    with torch.no_grad(), probes.network._Operations(network.parameters()) as operations:
        expected = network(images).numpy()
    parameters = [each.detach().numpy() for each in network.parameters()]
    found = recomputation.output_of(images.numpy(), layers.layers(operations.seen), parameters)
    np.testing.assert_allclose(found, expected, 1e-4, 1e-6)


class OwnSums(nn.Module):
    """A linear layer written by hand, whose bias is one row."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(28 * 28, 5))
        self.other = nn.Parameter(torch.rand(5))
        self.bias = nn.Parameter(torch.rand(1, 5))

    def forward(self, images):
        return images.flatten(1) @ self.weight + self.other.view(1, -1) + 0 * self.bias


NETWORKS = {
    "images padded before": lambda: nn.Sequential(nn.ZeroPad2d(2), nn.Conv2d(1, 4, 5)),
    "an even kernel": lambda: nn.Sequential(nn.Conv2d(1, 4, 4, padding="same")),
    "more padding than kernel": lambda: nn.Sequential(nn.Conv2d(1, 4, 1, padding=1)),
    "an adaptive pool": lambda: nn.Sequential(nn.Conv2d(1, 4, 3), nn.AdaptiveMaxPool2d((3, 5))),
    "lazy layers": lambda: nn.Sequential(nn.LazyConv2d(4, 3), nn.Flatten(), nn.LazyLinear(5)),
    "equal biases": lambda: nn.Sequential(
        nn.Flatten(), nn.Linear(28 * 28, 5, bias=False), nn.Linear(5, 5)
    ),
    "a bias of its own shape": OwnSums,
}


@pytest.mark.parametrize("make", NETWORKS.values(), ids=NETWORKS)
def test_layers_of_all_kinds_are_those_of_torch(probes, make) -> None:
    torch.manual_seed(1)
    network, images = make(), torch.rand(2, 1, 28, 28)
    with torch.no_grad():
        probes.network._operations_of(network, images)
        seen, expected = probes.network._operations_of(network, images)
    parameters = [each.detach().numpy() for each in network.parameters()]
    found = recomputation.output_of(images.numpy(), layers.layers(seen), parameters)
    np.testing.assert_allclose(found, expected.numpy(), 1e-4, 1e-6)


def test_what_a_child_raises_is_told_with_its_line(probes) -> None:
    import torch.multiprocessing as mp

    def fail(model):
        raise IndexError("part 2")

    def hogwild(model, dataset, **settings):
        process = mp.get_context("fork").Process(target=fail, args=(model,))
        process.start()
        process.join()
        return model

    (given,) = inputs_of(hogwild_cases.cases()[0])
    with pytest.raises(
        probes.children.ChildFailed, match=r"raised IndexError: part 2 at test_probes.py:\d"
    ):
        probes.train_hogwild(FakeStudent(hogwild), None, **given)


def test_steps_of_its_own_memory_are_told_from_shared_ones(probes) -> None:
    import torch

    def in_this_process(model, dataset, *, lr, **settings):
        inputs, labels = dataset[:4]
        for share in (False, True):
            if share:
                model.share_memory()
            model.zero_grad()
            torch.nn.functional.nll_loss(model(inputs).log(), labels).backward()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter -= lr * parameter.grad
        return model

    (given,) = inputs_of(hogwild_cases.cases()[0])
    found = probes.train_hogwild(FakeStudent(in_this_process), None, **given)
    # In between, share_memory itself fills the shared memory.
    assert found["written"][:2].tolist() == [-1, -1]
    assert -1 not in found["written"][-2:] and len(set(found["written"][-2:])) == 2
    assert found["written_size"][-2:].tolist() == [15, 3]
    assert found["rows"].tolist() == [0, 1, 2, 3] * 2


def fails(processes):
    [process.join() for process in processes]
    raise NameError("proceses")


def hangs(processes):
    threading.Event().wait()


def waits_for_ever_for(processes):
    processes[0].join()


@pytest.mark.parametrize("end", [fails, hangs, waits_for_ever_for])
def test_what_processes_did_before_hogwild_fails_or_hangs_is_told(probes, monkeypatch, end) -> None:
    import hogwild
    import torch.multiprocessing as mp

    def train(forever, *args, **settings):
        hogwild.train_part(*args, **settings)
        if forever:
            threading.Event().wait()

    def unending(model, dataset, *, num_processes, **settings):
        model.share_memory()
        processes = [
            mp.Process(
                target=train,
                args=(end is not fails, model, dataset, number, num_processes),
                kwargs=settings,
            )
            for number in range(num_processes)
        ]
        [process.start() for process in processes]
        end(processes)

    monkeypatch.setattr(probes.children, "_LOOKS_ASLEEP", 5)
    case = hogwild_cases.case_to_the_end()
    (given,) = inputs_of(case)
    found = probes.train_hogwild(FakeStudent(unending), None, **given)
    assert_announced(found, case.results(0, 1))
    outcome = outcome_of(case, [given], [found])
    waiting_checks.assert_same_time(case, outcome)
    hogwild_checks.assert_all_steps_count(case, outcome)
    hogwild_checks.assert_shared(case, outcome)
    assert not mp.active_children()


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        (lambda model: model, "the given model"),
        (lambda model: None, "nothing"),
        (copy.deepcopy, "another model"),
    ],
)
def test_which_model_is_returned_is_told(probes, returned, told) -> None:
    (given,) = inputs_of(psgd_cases.cases_of(1)[0])
    student = FakeStudent(lambda comm, model, *all, **named: returned(model))
    found = probes.train_psgd(student, Alone(), **given)
    assert found["returned"] == told
    np.testing.assert_array_equal(found["weights"], given["weights"])


def test_what_is_no_model_is_refused(probes) -> None:
    (given,) = inputs_of(psgd_cases.cases_of(1)[0])
    with pytest.raises(TypeError, match="returned list; it must return the model"):
        probes.train_psgd(FakeStudent(lambda *all, **named: [1]), Alone(), **given)


def test_an_exit_code_is_told_with_its_reason(probes) -> None:
    import torch.multiprocessing as mp

    class Failing(mp.get_context("fork").Process):
        def run(self):
            raise KeyError("weights")

    def hogwild(model, dataset, **settings):
        process = Failing()
        process.start()
        process.join()
        raise RuntimeError(f"exit code {process.exitcode}")

    (given,) = inputs_of(hogwild_cases.cases()[0])
    told = (
        r"raised KeyError: 'weights' at test_probes.py:\d+; hogwild then raised RuntimeError: exit"
    )
    with pytest.raises(probes.children.ChildFailed, match=told):
        probes.train_hogwild(FakeStudent(hogwild), None, **given)


@pytest.mark.parametrize(
    "text",
    [
        "import sklearn",
        "import numpy as np, sklearn.linear_model as lm",
        "from sklearn import metrics",
        "from sklearn.linear_model import SGDClassifier",
        "def f():\n    try:\n        import sklearn\n    except ImportError:\n        pass",
        "import importlib\nimportlib.import_module('sklearn.svm')",
        "s = __import__('sklearn')",
    ],
)
def test_an_import_is_found_however_it_is_written(probes, tmp_path, text) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "net.py").write_text(text)
    (tmp_path / "other.py").write_text("not python at all (")
    ((file, line, module),), _ = probes.sources.places_in(tmp_path, SOLVERS, LOCKS)
    assert (file, module.split(".")[0]) == ("more/net.py", "sklearn")
    assert line >= 1


@pytest.mark.parametrize(
    "text",
    [
        "# import sklearn",
        "'''uses no sklearn'''",
        "from . import sklearn",
        "from .sklearn import x",
        "import sklearn_like",
        "import torch, numpy",
        "nothing = 'import sklearn'",
    ],
)
def test_what_imports_no_solver_passes(probes, tmp_path, text) -> None:
    (tmp_path / "net.py").write_text(text)
    assert probes.sources.places_in(tmp_path, SOLVERS, LOCKS) == ([], [])


def test_names_are_those_used_alone_and_as_attributes(probes, tmp_path) -> None:
    (tmp_path / "x.py").write_text("mp.Lock()\nwith RLock():\n  pass")
    _, names = probes.sources.places_in(tmp_path, SOLVERS, LOCKS)
    assert sorted(names) == [["x.py", 1, "Lock"], ["x.py", 2, "RLock"]]


def test_the_sources_are_those_beside_the_graded_file(probes) -> None:
    found = probes.read_sources(
        FakeStudent(), None, file="network.py", solvers=["argparse"], names=["Process"]
    )
    assert "main.py" in {file for file, *_ in json.loads(found["imports"])}
    assert "hogwild.py" in {file for file, *_ in json.loads(found["names"])}

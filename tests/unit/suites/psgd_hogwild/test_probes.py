"""The probes note what a training really did, in whichever process it did it."""

import contextlib
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from psgd_hogwild import hogwild_cases, network_cases, psgd_cases
from psgd_hogwild.sources import read

from grader.judge.findings import WrongAnswer

from .made_outcomes import inputs_of, outcome_of

ROOT = Path(__file__).parents[4]
REFERENCE = ROOT / "reference" / "psgd_hogwild"
MODULES = ("images", "training", "observed", "waiting", "network", "psgd", "hogwild")


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
    monkeypatch.syspath_prepend(ROOT / "grader" / "support")
    monkeypatch.syspath_prepend(REFERENCE)
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.chdir(tmp_path)
    module = ModuleType("probes")
    source = (ROOT / "tests" / "suites" / "psgd_hogwild" / "probes.py").read_text()
    exec(compile(source, "probes.py", "exec"), module.__dict__)
    yield module
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
        psgd_cases.assert_average(case, outcome)
        psgd_cases.assert_parts(case, outcome)
        psgd_cases.assert_plain_sgd_bit_for_bit(case, outcome)


def test_hogwild_passes_every_check(probes) -> None:
    for case in hogwild_cases.cases()[:2]:
        (given,) = inputs_of(case)
        found = probes.train_hogwild(FakeStudent(), None, **given)
        assert_announced(found, case.results(0, 1))
        outcome = outcome_of(case, [given], [found])
        hogwild_cases.assert_processes(case, outcome)
        hogwild_cases.assert_parts(case, outcome)
        hogwild_cases.assert_shared(case, outcome)
        hogwild_cases.assert_all_steps_count(case, outcome)
        if case.meets:
            hogwild_cases.assert_nobody_waits(case, outcome, {})
        if not case.is_parallel:
            hogwild_cases.assert_serial(case, outcome)


def test_the_reference_network_passes_every_check(probes) -> None:
    case = network_cases.Network(batch_size=2)
    (given,) = inputs_of(case)
    found = probes.run_network(FakeStudent(), None, **given)
    assert_announced(found, case.results(0, 1))
    outcome = outcome_of(case, [given], [found])
    network_cases.assert_layers(case, outcome)
    network_cases.assert_probabilities(case, outcome)
    network_cases.assert_dropout_only_in_training(case, outcome)
    with pytest.raises(WrongAnswer, match=r"has shape \(2, 10\), expected \(3, 10\)"):
        network_cases.assert_probabilities(network_cases.Network(batch_size=3), outcome)


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
    with pytest.raises(probes.ChildFailed, match=r"raised IndexError: part 2 at test_probes.py:\d"):
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
    assert found["written_is_shared"][:2].tolist() == [0, 0]
    assert found["written"][:2].tolist() == [-1, -1]
    assert found["written"][-2:].tolist() == [0, 1]
    assert found["rows"].tolist() == [0, 1, 2, 3] * 2


@pytest.mark.parametrize(
    ("returned", "words"), [(None, "returned None"), ([1], "returned an object of type list")]
)
def test_what_is_no_model_is_refused(probes, returned, words) -> None:
    (given,) = inputs_of(psgd_cases.cases_of(1)[0])
    with pytest.raises(TypeError, match=words):
        probes.train_psgd(FakeStudent(lambda *all, **named: returned), Alone(), **given)


def test_the_sources_are_those_beside_the_graded_file(probes) -> None:
    found = probes.read_sources(FakeStudent(), None, file="network.py")
    assert {"network.py", "psgd.py", "hogwild.py"} <= set(read(found["sources"]))
    assert "class Net" in json.loads(found["sources"])["network.py"]

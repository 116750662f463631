"""The probe sees a training from outside, and leaves torch as it found it."""

import importlib.util
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from vgg_ddp import checks, examples
from vgg_ddp.train_cases import Training

from grader.suite.case import Data

from .trainings import outcome

torch = pytest.importorskip("torch")

ROOT = Path(__file__).parents[4]
REFERENCE = ROOT / "reference" / "vgg_ddp"
CASE = Training(
    "train",
    file="part1/main.py",
    num_steps=2,
    phase="between",
    takes_flags=False,
    first_channels=1,
)


class FakeStudent:
    """Runs the script in this process, and keeps the phases that were marked."""

    def __init__(self):
        self.phases = []

    def mark_phase(self, level):
        self.phases.append(level)

    def script(self, file, *arguments):
        assert not arguments
        return runpy.run_path(str(REFERENCE / file), run_name="__main__")


@pytest.fixture
def probes(monkeypatch):
    """Import the probes, with the support files as they lie in a rank."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(sys, "path", [*sys.path, str(REFERENCE)])
    for name in ("model", "torchvision", "torchvision.datasets", "torchvision.transforms"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    source = ROOT / "tests" / "suites" / "vgg_ddp" / "probes.py"
    spec = importlib.util.spec_from_file_location("probes", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    for name in ("model", "torchvision", "torchvision.datasets", "torchvision.transforms"):
        sys.modules.pop(name, None)


def test_the_reference_is_seen_as_it_trains(probes):
    """Batches, gradients and steps agree with the oracle; the phase is between them."""
    before = (torch.autograd.backward, torch.nn.functional.cross_entropy, sys.stdout)
    (inputs,) = CASE.inputs(np.random.default_rng(1), 1, Data())
    student = FakeStudent()
    alone = SimpleNamespace(rank=0, size=1, address="127.0.0.1", port=1)

    seen = outcome(CASE, [probes.train(student, alone, **inputs)])

    checks.assert_own_gradients(CASE, seen)
    checks.assert_steps_with_mean(CASE, seen)
    checks.assert_sgd_steps(CASE, seen)
    examples.assert_examples_shared_out(CASE, seen)
    # From the start of each backward on, not during each step, and not at the end.
    assert student.phases == [1, 1, 0, 1, 1, 0, 0]
    assert (torch.autograd.backward, torch.nn.functional.cross_entropy, sys.stdout) == before

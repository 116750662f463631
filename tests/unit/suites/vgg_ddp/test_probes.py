"""The probe sees a training from outside, and leaves torch as it found it."""

import runpy
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from vgg_ddp import batches, checks, examples, exchange
from vgg_ddp.train_cases import Training

from grader.course.courses import bundled
from grader.grading_plugin.case import Data
from grader.rank import probe_modules
from grader.rank.toolbox import replaced

from .trainings import outcome

torch = pytest.importorskip("torch")

ROOT = Path(__file__).parents[4]
REFERENCE = ROOT / "reference" / "vgg_ddp"
CASE = Training(
    "train",
    file="part1/main.py",
    phase="between",
    exchange="all_reduce",
    takes_flags=False,
    first_channels=1,
)


class FakeStudent:
    """Runs the script in this process, and keeps the phases that were marked."""

    def __init__(self):
        self.phases = []
        self.respelt = {}

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
    yield probe_modules.load(bundled().load("vgg_ddp").probe_sources())
    for name in ("model", "torchvision", "torchvision.datasets", "torchvision.transforms"):
        sys.modules.pop(name, None)


def alone():
    """Return the only process of a case; its `observer` is to be told of its operations."""
    comm = SimpleNamespace(rank=0, size=1, address="127.0.0.1", port=1)
    comm.on_operation = lambda observer: setattr(comm, "observer", observer)
    return comm


def inputs(case=CASE):
    """Return what a rank is given for a case."""
    (given,) = case.inputs(np.random.default_rng(1), 1, Data())
    return given


def patched():
    """Return what a probe replaces while it watches."""
    functional = torch.nn.functional
    ddp = torch.nn.parallel.DistributedDataParallel
    return torch.autograd.backward, functional.conv2d, ddp.forward, ddp.__init__, sys.stdout


def test_the_reference_is_seen_as_it_trains(probes):
    """Batches, gradients and steps agree with the oracle; the phase is between them."""
    before = patched()
    given, student = inputs(), FakeStudent()

    seen = outcome(CASE, [probes.train(student, alone(), **given)])
    seen = replace(seen, inputs=(given,))

    for check in (
        batches.assert_own_gradients,
        checks.assert_steps_with_mean,
        checks.assert_sgd_steps,
        examples.assert_shared_out,
        examples.assert_batch_sizes,
    ):
        check(CASE, seen)
    # From the start of each backward on, not during each step, and not at the end.
    assert student.phases == [0, 1, 1, 0, 0, 1, 1, 0, 0, 0]
    assert patched() == before


@pytest.mark.parametrize(
    ("extent", "steps"), [("first batch", [256]), ("program", [256, 128]), ("epoch", [256, 128])]
)
def test_a_script_is_let_go_as_far_as_the_case_is_about(probes, extent, steps, capsys):
    """Only the whole program comes to its test set, and prints what it found there."""
    case = replace(CASE, extent=extent)
    found = probes.train(FakeStudent(), alone(), **inputs(case))
    assert found["batch_sizes"].tolist() == steps
    assert ("accuracy" in capsys.readouterr().out) == (extent == "program")
    assert set(found) == set(case.results(0, 1))


SCRIPT = """
import copy, model, torch
from torchvision import datasets, transforms
data = datasets.CIFAR10("data", train=True, transform=transforms.ToTensor())
net = copy.deepcopy(model.VGG11())
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
images = torch.stack([data[i][0] for i in range(384)])
labels = torch.tensor([data[i][1] for i in range(384)])
order = torch.randperm(384)
for chosen in (order[:256], order[256:]):
    def closure():
        optimizer.zero_grad()
        {forward}
        loss = -scores.log_softmax(1)[torch.arange(len(chosen)), labels[chosen]].mean()
        loss.backward()
        return loss
    optimizer.step(closure)
"""


@pytest.mark.parametrize(
    "forward",
    [
        "scores = net(images[chosen])",
        "scores = net.forward(images[chosen])",
        "scores = net.classifier(net.features(images[chosen]).flatten(1))",
    ],
)
def test_a_training_is_seen_however_it_is_written(probes, tmp_path, forward):
    """Without a loader, by a copy of the network, a loss by hand, a closure; called in any way."""
    script = tmp_path / "main.py"
    script.write_text(SCRIPT.format(forward=forward))
    given, student = inputs(), FakeStudent()
    student.script = lambda file, *arguments: runpy.run_path(str(script), run_name="__main__")

    seen = outcome(CASE, [probes.train(student, alone(), **given)])
    seen = replace(seen, inputs=(given,))

    for check in (
        batches.assert_own_gradients,
        checks.assert_sgd_steps,
        examples.assert_shared_out,
        examples.assert_batch_sizes,
    ):
        check(CASE, seen)


def test_what_is_given_away_belongs_to_the_backward_before(probes, tmp_path):
    """Also when it comes after the step; of another operation nothing is kept."""
    script = tmp_path / "main.py"
    text = SCRIPT.format(forward="scores = net(images[chosen])")
    script.write_text(text + "    give(net)\n")
    student, comm = FakeStudent(), alone()

    def give(net):
        for parameter in net.parameters():
            comm.observer("all_reduce", [parameter.grad / 2])
            comm.observer("broadcast", [parameter.grad])

    student.script = lambda file, *arguments: runpy.run_path(
        str(script), {"give": give}, run_name="__main__"
    )
    seen = outcome(CASE, [probes.train(student, comm, **inputs())])
    exchange.assert_gradients_given(CASE, seen)
    assert seen["given"][0][0][:2].tolist() == [2453, 2453]


def test_the_first_gradient_that_is_given_away_ends_the_run(probes, tmp_path):
    """Before the operation itself can refuse it; what is no gradient is let through."""
    script = tmp_path / "main.py"
    text = SCRIPT.format(forward="scores = net(images[chosen])")
    text += "    give(torch.zeros(3), 'refused')\n"
    text += "    give(next(net.parameters()).grad / 2, 'refused')\n"
    script.write_text(text)
    seen_by_torch = []

    def refusing(tensor, *_):
        seen_by_torch.append(len(tensor))

    case, student = replace(CASE, extent="exchange"), FakeStudent()
    student.script = lambda file, *arguments: runpy.run_path(
        str(script),
        {"give": lambda *given: torch.distributed.all_reduce(*given)},
        run_name="__main__",
    )
    with replaced(torch.distributed, "all_reduce", refusing):
        found = probes.train(student, alone(), **inputs(case))

    assert set(found) == set(case.results(0, 1))
    assert found["given"][0][:2].tolist() == [27, 27]
    assert found["batch_sizes"].tolist() == [256]
    assert seen_by_torch == [3]


def test_pieces_of_a_vector_are_told_from_the_gradients_in_it(probes, tmp_path):
    """All gradients in one vector, those of some parameters, noise."""
    script = tmp_path / "main.py"
    text = SCRIPT.format(forward="scores = net(images[chosen])")
    script.write_text(text + "    give(net)\n")
    case, comm, student = replace(CASE, first_channels=4), alone(), FakeStudent()
    chosen = []

    def give(net):
        gradients = [each.grad.flatten() for each in net.parameters() if chosen[0](each)]
        comm.observer("all_reduce", [torch.cat(gradients) / 2])

    student.script = lambda file, *arguments: runpy.run_path(
        str(script), {"give": give}, run_name="__main__"
    )
    for is_given, number in ((lambda each: True, 36782), (lambda each: each.ndim > 1, 36428)):
        chosen[:] = [is_given]
        seen = probes.train(student, comm, **inputs(case))
        assert seen["given"][0][:2].tolist() == [number, number]


def test_help_joins_the_ranks_and_leaves_out_what_stops_a_script(probes, tmp_path, monkeypatch):
    """An option that argparse does not know, a rendezvous that leads nowhere, a GPU."""
    script = tmp_path / "main.py"
    script.write_text("""
import argparse, torch
parser = argparse.ArgumentParser()
parser.add_argument("--rank", type=int, required=True)
rank = parser.parse_args(["--num-nodes", "1", "--rank", "0"]).rank
torch.distributed.init_process_group("nccl", "nowhere", rank=rank + 1)
torch.nn.Linear(1, 1).cuda()
torch.zeros(1).cuda(0)
""")
    joined = []
    monkeypatch.setattr(
        torch.distributed, "init_process_group", lambda *given, **named: joined.append(named)
    )
    student = FakeStudent()
    student.script = lambda file, *arguments: runpy.run_path(str(script), run_name="__main__")
    probes.train(student, alone(), **inputs(replace(CASE, is_helped=True)))
    assert joined == [{"rank": 0, "world_size": 1}]

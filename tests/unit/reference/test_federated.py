"""Tests of what federated gives its students, and of the reference in a world of one process."""

import importlib
import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from .imports import imported

REFERENCE = Path(__file__).parents[3] / "reference" / "federated"


class OneProcess:
    """A communicator of one rank: what it reduces or hands out is what it was given."""

    def Get_rank(self) -> int:  # noqa: N802 - mpi4py's name
        return 0

    def Get_size(self) -> int:  # noqa: N802 - mpi4py's name
        return 1

    def allreduce(self, value: Any, op: Any = None) -> Any:
        return value

    def reduce(self, value: Any, op: Any = None, root: int = 0) -> Any:
        return value


@pytest.fixture
def torch() -> ModuleType:
    """Import torch when it is needed: it takes a while."""
    return importlib.import_module("torch")


@pytest.fixture
def utils(torch: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Import the support file anew, and let go of its common name afterwards."""
    module = imported(monkeypatch, ["utils"], REFERENCE)["utils"]
    mpi = SimpleNamespace(MPI=SimpleNamespace(COMM_WORLD=OneProcess(), SUM="sum"))
    monkeypatch.setitem(sys.modules, "mpi4py", mpi)
    return module


@pytest.fixture
def examples(utils: ModuleType) -> Any:
    random = np.random.default_rng(0)
    images = random.uniform(-1, 1, (200, 3, 32, 32)).astype(np.float32)
    return utils.Examples(images, random.integers(10, size=200))


def parameters(model: Any) -> np.ndarray:
    return np.concatenate([each.detach().numpy().ravel() for each in model.parameters()])


def test_net_has_the_parameters_that_the_handout_names(utils):
    assert len(parameters(utils.Net())) == 62006


def test_one_seed_gives_one_network_and_one_order(utils, examples):
    def drawn():
        utils.set_random_seed(42)
        loader, _ = utils.create_dataloader(examples, examples, 100)
        return parameters(utils.Net()), [labels.numpy() for _, labels in loader]

    (first, batches), (second, others) = drawn(), drawn()
    assert np.array_equal(first, second)
    assert np.array_equal(batches, others)
    assert [len(batch) for batch in batches] == [100, 100]


@pytest.mark.parametrize("split_method", ["iid", "non-iid"])
def test_split_gives_every_example_to_one_client(utils, examples, split_method):
    utils.set_random_seed(1)
    parts = utils.data_split(examples, 3, split_method)
    rows = np.concatenate([part.data[:, 0, 0, 0].numpy() for part in parts])
    assert sorted(rows) == sorted(examples.data[:, 0, 0, 0].numpy())
    sizes = [len(part) for part in parts]
    assert min(sizes) >= 10
    assert (max(sizes) - min(sizes) <= 1) == (split_method == "iid")


def test_unknown_split_is_named(utils, examples):
    with pytest.raises(ValueError, match="'noniid'; it must be 'iid' or 'non-iid'"):
        utils.data_split(examples, 3, "noniid")


def test_figure_is_drawn_below_figures(utils, examples, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parts = utils.data_split(examples, 3, "iid")
    utils.plot_data_split(parts, 3, 10, "labels.png")
    assert (tmp_path / "figures" / "labels.png").read_bytes().startswith(b"\x89PNG")


def test_serverless_of_one_process_is_centralized_training(utils, examples, capsys):
    utils._given = (examples, examples, None)
    models = [
        runpy.run_path(str(REFERENCE / file), run_name="__main__")["model"]
        for file in ("cent_sgd.py", "dist_sgd_serverless.py")
    ]
    assert np.allclose(*map(parameters, models), atol=1e-6)
    first, second = np.array_split(capsys.readouterr().out.splitlines(), 2)
    assert list(first) == list(second)


def test_aggregate_is_the_weighted_mean_and_keeps_counts(utils, torch, monkeypatch):
    names = runpy.run_path(str(REFERENCE / "fed_avg.py"))
    aggregator = names["Aggregator"](torch.nn.BatchNorm1d(2))
    states = [
        {
            key: torch.full_like(value, number)
            for key, value in aggregator.model.state_dict().items()
        }
        for number in (1, 5)
    ]
    mean = aggregator.aggregate(states, [30, 10])
    assert {key: value.unique().tolist() for key, value in mean.items()} == {
        "weight": [2.0],
        "bias": [2.0],
        "running_mean": [2.0],
        "running_var": [2.0],
        "num_batches_tracked": [1],
    }
    assert mean["num_batches_tracked"].dtype == torch.int64
    aggregator.set_model_params(mean)
    assert aggregator.get_model_params()["running_var"].tolist() == [2.0, 2.0]


def test_formulas_count_by_hand():
    """4 processes, 10 parameters, 3 steps; a tree of 5 needs 3 levels."""
    names = runpy.run_path(str(REFERENCE / "communication.py"))
    assert names["naive_all_reduce"](10, 4, 3) == 4 * 3 * 10 * 3
    for name in ("ring_all_reduce", "tree_all_reduce", "parameter_server", "fed_avg"):
        assert names[name](10, 4, 3) == 180
    times = ("tree_reduce_time", "ring_reduce_time", "tree_all_reduce_time", "ring_all_reduce_time")
    assert [names[name](5) for name in times] == [3, 4, 6, 8]
    assert [names[name](1) for name in times] == [0, 0, 0, 0]

"""Runs of the student's scripts on given examples."""

import os
import shutil
from pathlib import Path

import numpy as np

from grader.rank.toolbox import Enough, flattened, seed_everything

from .examples import Given
from .log import Log, packed_entries, watched_aggregation
from .pictures import pictures


def train(
    student, comm, *, file, images, labels, num_training, client_of, seed, most_gradients=None
):
    """Run the student's script on given examples; return what it trained on, and its model.

    client_of: the client of each training example, or nothing where there are no clients.
    most_gradients: stop the script after this many, or where it raises, and return what it did
    until then. For scripts that did not finish in an earlier case.
    """
    rank = _rank(comm)
    given = Given(images, labels, num_training, client_of)
    _begin_anew(comm, rank, seed)
    log = Log(given.train, most_gradients)
    names = {}
    with log.watching(), watched_aggregation(log), given.in_place(), student.phase():
        try:
            names = student.script(file)
        except Enough:
            if most_gradients is None:  # raised by the script itself
                raise
            names = {"model": log.network}
        except NotImplementedError:
            raise
        except Exception:
            if most_gradients is None:
                raise
    model, gradient, problem = _model_of(names)
    rows, rows_per_batch = flattened(log.batches)
    return {
        "model": model,
        "gradient": gradient,
        "aggregate": log.aggregate,
        "problem": problem,
        "rows": rows,
        "rows_per_batch": rows_per_batch,
        "seen": np.array(log.seen, dtype=np.float32) if log.seen else np.zeros((0, 0), np.float32),
        "figures": pictures(),
    }


def serial_training(student, comm, *, images, labels, num_training, plan, seed):
    """Train the network on the same number of batches in one process: the yardstick."""
    import torch

    utils = student.module("utils.py")
    given = Given(images, labels, num_training, [])
    _begin_anew(comm, _rank(comm), seed)
    model = utils.Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    criterion = torch.nn.CrossEntropyLoss()
    for _ in range(plan["epochs"]):
        for x, y in utils.create_dataloader(given.train, given.test, plan["batch_size"])[0]:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
    return {}


def _rank(comm):
    """Return the rank; in a standalone run only the script calls MPI."""
    return comm.Get_rank() if comm is not None else int(os.environ["OMPI_COMM_WORLD_RANK"])


def _begin_anew(comm, rank, seed):
    """Give each rank other random numbers, until the script seeds; make an empty figures/."""
    import torch

    torch.set_num_threads(1)
    torch.set_grad_enabled(True)
    seed_everything(seed % (1 << 30) + 1000 * rank)
    # A standalone run is the only one in its folder, which its ranks share.
    if comm is not None:
        shutil.rmtree("figures", ignore_errors=True)
    Path("figures").mkdir(exist_ok=True)
    if comm is not None:
        comm.Barrier()


def _model_of(names):
    """Return the parameters of the script's `model` and their gradients, packed, and a problem.

    An Aggregator may hold the model when the script has none of that name.
    """
    import torch

    nothing = np.zeros(0, dtype=np.float32)
    model = names.get("model")
    if model is None:
        aggregators = [each for each in names.values() if type(each).__name__ == "Aggregator"]
        model = getattr(aggregators[0], "model", None) if aggregators else None
    if isinstance(model, dict):
        return packed_entries(model), nothing, ""
    if not isinstance(model, torch.nn.Module):
        found = (
            "nothing of that name" if model is None else f"an object of type {type(model).__name__}"
        )
        return nothing, nothing, found
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    is_there = all(torch.is_tensor(gradient) for gradient in gradients.values())
    return (
        packed_entries(model.state_dict()),
        packed_entries(gradients) if is_there else nothing,
        "",
    )

"""Runs of the student's scripts, as far as a case needs them."""

import contextlib

import numpy as np

from grader.rank.toolbox import Enough, copied_output

from .log import Log
from .output_folders import output_folders
from .watching import helped, watched

_MAX_NUM_CHARS = 20_000


def train(
    student, comm, *, file, takes_flags, extent, num_steps, num_earlier_steps, phase, exchange,
    is_helped, seed, first_channels, num_examples, pauses, places, **data,
):  # fmt: skip
    """Run the student's script once, as a node of its own, and return what its training did.

    extent: `first batch` ends it before the first backward, `exchange` at the first gradient that
    the operation of the part is given, `epoch` after `num_steps` steps, `late` after as many that
    follow `num_earlier_steps` others, and `program` lets it come to its own end. phase: where calls
    count: in `all` of the script, `between` the start of backward and the step (without what
    DistributedDataParallel sends in backward), or in `backward` alone. exchange: the operation
    whose contents are looked at. pauses: see `DrawnPauses`. places: which numbers of gradients are
    kept of a `wide` network, from 0 to 1. is_helped: what may stop a script before it trains is
    done for it: see `helped`.
    """
    flags = []
    if num_examples > len(data["train_images"]):
        _repeat(data, num_examples)
    log = Log(extent, num_steps, exchange, num_earlier_steps, pauses=pauses, places=places)
    with helped(comm) if is_helped else contextlib.nullcontext():
        if takes_flags:
            address, num_nodes, rank = comm.be_nodes(), str(comm.size), str(comm.rank)
            flags = ["--master-ip", address, "--num-nodes", num_nodes, "--rank", rank]
        comm.on_operation(log.operation)
        with watched(student, log, data, phase, seed + comm.rank, first_channels):
            created = _run(student, file, flags, log)
    respelt = [f"{own} for {given}" for given, own in student.respelt.items()]
    return {**log.results(), "respelt": ", ".join(respelt), "created_folders": ", ".join(created)}


def print_losses(student, comm, *, file, seed, num_examples, drawn_step, **data):
    """Run the student's script on one node to its end; return its losses and what it printed.

    Its steps as well, with the images of one of them.
    """
    _repeat(data, num_examples)
    log = Log("printing", 0, "", drawn_step=drawn_step)
    with watched(student, log, data, "all", seed, 1), copied_output() as printed:
        log.printed = printed
        created = _run(student, file, [], log)
    losses = np.array([step.loss for step in log.steps], dtype=np.float64)
    return {
        **log.results(),
        "losses": losses,
        "printed": "".join(printed)[:_MAX_NUM_CHARS],
        "printed_before": np.array([step.num_chars for step in log.steps], dtype=np.int64),
        "created_folders": ", ".join(created),
    }


def _repeat(data, num_examples):
    """Repeat the training examples until there are so many, each with another number in it."""
    images, labels = data["train_images"], data["train_labels"]
    data["train_images"] = np.resize(images, (num_examples, *images.shape[1:]))
    # In two pixels that no transform cuts off.
    data["train_images"][:, 0, 15, 15:17] = (
        np.arange(num_examples, dtype="<u2").view(np.uint8).reshape(-1, 2)
    )
    data["train_labels"] = np.resize(labels, num_examples)


def _run(student, file, flags, log):
    """Run the script, until the case has seen enough of it; return the folders created for it.

    A script that raises after its training ends a case about the steps as well: the case of the
    whole program reports what it raises.
    """
    with contextlib.suppress(Enough), output_folders() as created:
        try:
            student.script(file, *flags)
        except Exception:
            if not (log.extent in ("epoch", "late") and log.is_over):
                raise
    return created

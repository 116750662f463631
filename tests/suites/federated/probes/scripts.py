"""Runs of the student's scripts on given examples."""

import contextlib
import os
import shutil
import time
import traceback
from pathlib import Path

import numpy as np

from grader.rank.toolbox import Enough, flattened, seed_everything

from .examples import Given
from .forgiving import forgiving
from .log import Log, packed_entries, watched_aggregation
from .output_folders import output_folders
from .pictures import pictures

_LOOK_S = 0.05
_MOST_LOOKS = 60
"""So often in turn a rank that has ended looks for messages in vain."""


def train(student, comm, *, file, num_pauses=0, **examples):
    """Run the student's script on given examples; return what it trained on, and its model.

    num_pauses: of each rank, to see whether ranks compute gradients at the same time.
    """
    given = begin_anew(comm, **examples)
    log = Log(given.train, num_pauses=num_pauses)
    with (
        log.watching(),
        watched_aggregation(log),
        given.in_place(),
        output_folders(),
        student.phase(),
    ):
        names = student.script(file)
    return _seen(log, names)


def begin(student, comm, *, file, most_gradients, keeps_tags, is_forgiven, **examples):
    """Run a script that does not come to its end; return what it did.

    most_gradients: stop the script after this many, or where it raises.
    is_forgiven: mend its slips.
    """
    given = begin_anew(comm, **examples)
    log = Log(given.train, most_gradients)
    with contextlib.ExitStack() as stack:
        watched = (log.watching(), watched_aggregation(log), given.in_place(), output_folders())
        for context in watched:
            stack.enter_context(context)
        if is_forgiven:
            stack.enter_context(forgiving(given, keeps_tags=keeps_tags))
        stack.enter_context(student.phase())
        error = None
        try:
            names = student.script(file)
        except (Exception, Enough) as raised:
            error = raised
            names = {"model": log.network, **_globals_at(error)}
    has_failed = error is not None and not isinstance(error, Enough)
    num_batches = _end_together(comm, has_failed, len(log.batches))
    if isinstance(error, NotImplementedError) and not num_batches:
        raise error
    return _seen(log, names)


def _end_together(comm, has_failed, num_batches):
    """Take what others still send, until all have ended; return the batches of all ranks.

    A server that failed ends its workers: they wait for it, and for nobody else, and it sends them
    what their scripts have no use for. What waits in a collective is not helped.
    """
    from mpi4py import MPI

    # Memory that is never freed: a rank that gives up leaves, and the sum can still come.
    counts = np.frombuffer(MPI.Alloc_mem(16), dtype=np.int64)
    counts[:] = num_batches
    all_ended = comm.Iallreduce(counts[:1], counts[1:])
    num_looks_left = _MOST_LOOKS
    while not all_ended.Test() and num_looks_left:
        status = MPI.Status()
        if comm.Iprobe(status=status):
            unused = bytearray(status.Get_count(MPI.BYTE))
            comm.Recv([unused, MPI.BYTE], status.Get_source(), status.Get_tag())
            num_looks_left = _MOST_LOOKS
            continue
        if has_failed and comm.Get_rank() == 0:
            for worker in range(1, comm.Get_size()):
                comm.isend("the server has failed", dest=worker)
        num_looks_left -= 1
        time.sleep(_LOOK_S)
    return counts[1]


def _seen(log, names):
    """Return what was trained on, and the model among the names of the script."""
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
        "num_steps": np.array([log.num_steps]),
        "optimizer_steps": np.array([log.optimizer_steps]),
        "paused_ns": log.pauses.spans_ns(),
    }


def _globals_at(error):
    """Return the global variables of the script that an exception has ended."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return next(
        (each.f_globals for each in frames if each.f_globals.get("__name__") == "__main__"), {}
    )


def _rank(comm):
    """Return the rank; in a standalone run only the script calls MPI."""
    return comm.Get_rank() if comm is not None else int(os.environ["OMPI_COMM_WORLD_RANK"])


def begin_anew(comm, *, images, labels, num_training, client_of, seed):
    """Return the examples of a run, each rank of which has other random numbers until it seeds.

    An empty figures/ is made as well.
    """
    import torch

    torch.set_num_threads(1)
    torch.set_grad_enabled(True)
    seed_everything(seed % (1 << 30) + 1000 * _rank(comm))
    # A standalone run is the only one in its folder, which its ranks share.
    if comm is not None:
        shutil.rmtree("figures", ignore_errors=True)
    Path("figures").mkdir(exist_ok=True)
    if comm is not None:
        comm.Barrier()
    return Given(images, labels, num_training, client_of)


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

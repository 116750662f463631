"""Calls of the student's psgd and hogwild."""

import contextlib
import os
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import TensorDataset

from grader.rank.toolbox import error_text, replaced

from .children import (
    ChildFailed,
    Idle,
    child_failure,
    ended_when_idle,
    processes_reported,
    told_of,
    trained_after_return,
)
from .returned import batches_seen, numbered, stays_of, trained_and_seen

_MAX_PLACE_CHARS = 200
_SCALES = (0.5, 1.0)


def train_psgd(
    student, comm, *, inputs, labels, weights, biases, seed, groups, scale_seed, **settings
):
    """Call the student's psgd on a model that writes down what it is trained on.

    scale_seed: of the numbers by which this rank's model multiplies the logits; 0 for none.

    groups: for each rank of comm, which communicator it belongs to and its place there; none for
    comm itself.
    """
    import observed

    psgd = student.function("psgd.py", "psgd")
    if len(groups):
        color, place = groups[comm.Get_rank()].tolist()
        comm = comm.Split(color, place)
    model, dataset = _prepare(inputs, labels, weights, biases)
    torch.manual_seed(seed)
    may_share = replaced(observed, "MAY_SHARE_MEMORY", False)
    with student.phase(), _no_more_watching(), may_share, _scales_drawn(scale_seed):
        trained = psgd(comm, model, dataset, seed=seed, **settings)
    return trained_and_seen(model, trained, "psgd")


def train_psgd_apart(
    student, comm, *, inputs, labels, weights, biases, seed, groups, scale_seed, **settings
):
    """Call the student's psgd; end it where a rank has trained and wants to exchange, or fails."""
    from mpi4py import MPI

    psgd = student.function("psgd.py", "psgd")
    model, dataset = _prepare(inputs, labels, weights, biases)

    class Apart(MPI.Intracomm):
        def __getattribute__(self, name):
            if name not in _OF_NO_EXCHANGE and model.record.events("batch"):
                raise _WantsToExchange(name)
            return super().__getattribute__(name)

    torch.manual_seed(seed)
    world = replaced(MPI, "COMM_WORLD", Apart(MPI.COMM_WORLD))
    with student.phase(), _no_more_watching(), world, _scales_drawn(scale_seed):
        try:
            psgd(Apart(comm), model, dataset, seed=seed, **settings)
        except Exception:
            if not model.record.events("batch"):
                raise
    return batches_seen(model)


_OF_NO_EXCHANGE = ("rank", "size", "Get_rank", "Get_size", "__class__")


class _WantsToExchange(Exception):
    """A rank has computed gradients, and now calls its communicator."""


def train_hogwild(
    student,
    comm,
    *,
    inputs,
    labels,
    weights,
    biases,
    seed,
    num_processes,
    meeting_steps,
    failing_batch,
    to_the_end,
    **settings,
):
    """Call the student's hogwild on a model that writes down what it is trained on, and where.

    to_the_end: where it fails or never ends, what its processes have done until then is returned.
    """
    from observed import watch_writes

    witness = os.environ.get("GRADER_CENSUS", "")  # in open mode there is none
    model, dataset = _prepare(
        *(
            inputs,
            labels,
            weights,
            biases,
            num_processes,
            meeting_steps.tolist(),
            failing_batch,
            witness,
        )
    )
    record = model.record
    torch.manual_seed(seed)
    raised, is_early = "", False
    hogwild = student.function("hogwild.py", "hogwild")
    until = ended_when_idle(record) if to_the_end else contextlib.nullcontext()
    with student.phase(), processes_reported(record), _no_more_watching():
        watch_writes(model)
        try:
            with until:
                trained = hogwild(
                    model, dataset, num_processes=num_processes, seed=seed, **settings
                )
                is_early = trained_after_return(record, settings["epochs"] * len(dataset))
        except (Exception, Idle) as error:
            if isinstance(error, NotImplementedError) and not to_the_end:
                raise
            if not (failing_batch or to_the_end):
                raise child_failure(record, error) from error.__cause__
            raised, trained = error_text(error), model
    if not (failing_batch or to_the_end):
        for event in record.events("raised"):
            raise ChildFailed(f"{told_of(event)}; hogwild returned as if it had finished")
    wrote = record.events("wrote")
    # At the first meeting only: when one misses a later meeting, others give up on it.
    arrived = {event["thread"] for event in record.events("arrived") if event.get("meeting") == 0}
    gave_up = record.events("gave up")
    starting = [
        event
        for event in record.events("starting")
        if not gave_up or event["time_ns"] < gave_up[0]["time_ns"]
    ]
    told = trained_and_seen(model, trained, "hogwild")
    return {
        **told,
        # Numbered as in `processes`; then those that wrote without having computed a gradient.
        "writers": numbered(record.events("batch") + wrote, "process")[len(told["processes"]) :],
        # Each shared memory has a number, as they appear; private memory has -1.
        "written": numbered([{"memory": ""}, *wrote], "memory")[1:] - 1,
        "written_size": np.array([event["size"] for event in wrote], dtype=np.int64),
        **{kind: _first_place(record.events(kind)) for kind in ("held", "waited", "shared")},
        "meeting": np.array([len(arrived), len(gave_up), len(starting)], dtype=np.int64),
        **stays_of(record),
        "num_failed": np.array([len(record.events("failed"))], dtype=np.int64),
        "raised": raised,
        "is_early": np.array([is_early], dtype=np.int64),
    }


def _prepare(
    inputs, labels, weights, biases, meeting_of=0, meeting_steps=(), failing_batch=0, witness=""
):
    from observed import ObservedModel
    from record import Record

    torch.set_num_threads(1)
    inputs = torch.from_numpy(inputs)
    record = Record(
        tempfile.mkdtemp(dir=Path.cwd()),
        meeting_of=meeting_of,
        meeting_steps=meeting_steps,
        failing_batch=failing_batch,
        witness=witness,
    )
    model = ObservedModel(torch.from_numpy(weights), torch.from_numpy(biases), inputs, record)
    return model, TensorDataset(inputs, torch.from_numpy(labels))


@contextlib.contextmanager
def _scales_drawn(seed):
    """Let each forward pass of this rank draw what it multiplies the logits by, unless seed is 0.

    It does so as it begins: what has not begun is known to nobody.
    """
    import observed

    scales = np.random.default_rng(seed)
    draw = (lambda: float(scales.uniform(*_SCALES))) if seed else observed.next_scale
    with replaced(observed, "next_scale", draw):
        yield


def _first_place(events):
    return events[0]["place"][:_MAX_PLACE_CHARS] if events else ""


@contextlib.contextmanager
def _no_more_watching():
    from observed import stop_watching

    try:
        yield
    finally:
        stop_watching()

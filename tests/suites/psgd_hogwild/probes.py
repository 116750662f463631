"""Rank-side calls of the student's functions for psgd_hogwild; knows no right answer."""

import contextlib
import json
import os
import tempfile
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import torch
from imported import imports_of, places_in
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.data import TensorDataset

MAX_PLACE_CHARS = 200


def run_layers(student, comm, *, images, seed, solvers):
    """Run the student's Net on images in training; note every operation, up to a crash if any."""
    make = student.function("network.py", "Net")
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    operations, crash = _Operations(), ""
    with student.phase():
        network = _module(make(), "Net()").train()
        try:
            with operations:
                network(torch.from_numpy(images))
        except Exception as error:
            if isinstance(error, NotImplementedError) or not operations.seen:
                raise
            crash = f"{type(error).__name__}: {error}"[:500]
    return {"in_training": json.dumps(operations.seen), "crash": crash}


def run_network(student, comm, *, images, seed, solvers):
    """Run the student's Net on images, in training and in evaluation; note every operation."""
    with imports_of(solvers) as imports:
        make = student.function("network.py", "Net")
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        with student.phase():
            network = _module(make(), "Net()")
            network.train()
            in_training, dropping = _operations_of(network, torch.from_numpy(images))
            network.eval()
            in_evaluation, first = _operations_of(network, torch.from_numpy(images))
            _, second = _operations_of(network, torch.from_numpy(images))
    parameters = [each.detach().numpy() for each in network.parameters()]
    flat = [np.zeros(0, np.float32), *(each.ravel() for each in parameters)]
    return {
        "in_training": json.dumps(in_training),
        "in_evaluation": json.dumps(in_evaluation),
        "output_in_training": dropping,
        "output": first,
        "output_again": second,
        "parameters": np.concatenate(flat),
        "parameter_shapes": json.dumps([each.shape for each in parameters]),
        "imports": json.dumps(imports),
    }


def train_psgd(
    student, comm, *, inputs, labels, weights, biases, seed, groups, solvers, **settings
):
    """Call the student's psgd on a model that writes down what it is trained on.

    groups: for each rank of comm, which communicator it belongs to and its place there; none for
    comm itself.
    """
    with imports_of(solvers) as imports:
        psgd = student.function("psgd.py", "psgd")
        if len(groups):
            color, place = groups[comm.Get_rank()].tolist()
            comm = comm.Split(color, place)
        model, dataset = _prepare(inputs, labels, weights, biases)
        torch.manual_seed(seed)
        with student.phase(), _no_more_watching():
            trained = psgd(comm, model, dataset, seed=seed, **settings)
    return {**_told(model, trained, "psgd"), "imports": json.dumps(imports)}


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
    meeting_step,
    failing_batch,
    solvers,
    **settings,
):
    """Call the student's hogwild on a model that writes down what it is trained on, and where."""
    witness = os.environ.get("GRADER_WITNESS", "")  # in open mode there is none
    model, dataset = _prepare(
        *(inputs, labels, weights, biases, num_processes, meeting_step, failing_batch, witness)
    )
    record = model.record
    torch.manual_seed(seed)
    raised = ""
    with imports_of(solvers, record) as imports:
        hogwild = student.function("hogwild.py", "hogwild")
        with student.phase(), _processes_reported(record), _no_more_watching():
            try:
                trained = hogwild(
                    model, dataset, num_processes=num_processes, seed=seed, **settings
                )
            except NotImplementedError:
                raise
            except Exception as error:
                if not failing_batch:
                    raise _child_failure(record, error) from error.__cause__
                raised, trained = f"{type(error).__name__}: {error}"[:500], model
    if not failing_batch:
        for event in record.events("raised"):
            raise ChildFailed(f"{_told_of(event)}; hogwild returned as if it had finished")
    wrote = record.events("wrote")
    arrived = {event["thread"] for event in record.events("arrived")}
    gave_up = record.events("gave up")
    started = [
        event
        for event in record.events("started")
        if not gave_up or event["time_ns"] < gave_up[0]["time_ns"]
    ]
    told = _told(model, trained, "hogwild")
    places = {place: number for number, place in enumerate(_memories_of(trained or model)) if place}
    imports += [event["place"] for event in record.events("imported")]
    return {
        **told,
        # As numbered in `processes`, then whoever wrote without having computed a gradient.
        "writers": _numbered(record.events("batch") + wrote, "process")[len(told["processes"]) :],
        "written": np.array([places.get(event["memory"], -1) for event in wrote], dtype=np.int64),
        "written_is_shared": np.array([event["memory"] != "" for event in wrote], dtype=np.int64),
        **{kind: _first_place(record.events(kind)) for kind in ("held", "waited", "shared")},
        "meeting": np.array([len(arrived), len(gave_up), len(started)], dtype=np.int64),
        "num_failed": np.array([len(record.events("failed"))], dtype=np.int64),
        "raised": raised,
        "imports": json.dumps(imports),
    }


def read_sources(student, comm, *, file, solvers, names):
    """Return where the files handed in with `file` import a solver, or use one of the names."""
    imports, used = places_in(Path(student.module(file).__file__).parent, solvers, names)
    return {"imports": json.dumps(imports), "names": json.dumps(used)}


def _child_failure(record, error):
    """Return what tells of a process that failed, instead of its exit code alone."""
    events = record.events("raised")
    told = f"{type(error).__name__}: {error}".strip()
    if events:
        return ChildFailed(f"{_told_of(events[0])}; hogwild then raised {told}"[:1000])
    if type(error).__name__ == "ProcessRaisedException":
        return ChildFailed(f"a process that hogwild started raised {told.splitlines()[-1]}"[:1000])
    return error


def _told_of(event):
    return (
        f"a process that hogwild started raised {event['text']} at {event['file']}:{event['line']}"
    )


class ChildFailed(Exception):
    """A process that the student's code started has failed, and nobody noticed."""


class _Operations(TorchDispatchMode):
    """Writes down every tensor operation with the shape of what it gives."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        result = function(*arguments, **(named or {}))
        first = result[0] if isinstance(result, tuple | list) and result else result
        if isinstance(first, torch.Tensor):
            self.seen.append([function._schema.name, list(first.shape)])
        return result


def _operations_of(network, images):
    operations = _Operations()
    with operations:
        output = network(images)
    if not isinstance(output, torch.Tensor):
        raise TypeError(f"Net()(images) returned {type(output).__name__}; it is to return a tensor")
    return operations.seen, output.detach().numpy()


def _prepare(
    inputs, labels, weights, biases, meeting_of=0, meeting_step=0, failing_batch=0, witness=""
):
    from observed import ObservedModel
    from record import Record

    torch.set_num_threads(1)
    inputs = torch.from_numpy(inputs)
    record = Record(
        tempfile.mkdtemp(dir=Path.cwd()),
        meeting_of=meeting_of,
        meeting_step=meeting_step,
        failing_batch=failing_batch,
        witness=witness,
    )
    model = ObservedModel(torch.from_numpy(weights), torch.from_numpy(biases), inputs, record)
    return model, TensorDataset(inputs, torch.from_numpy(labels))


def _told(model, returned, function):
    """Return the trained parameters, and every batch whose gradient was computed.

    What is returned counts; of who returns nothing, the model that was given.
    """
    kind = {id(None): "nothing", id(model): "the given model"}.get(id(returned), "another model")
    trained = model if returned is None else _module(returned, function)
    parameters = dict(trained.named_parameters())
    if not {"weight", "bias"} <= parameters.keys():
        raise TypeError(f"{function} returned another model than the one it was given")
    batches = model.record.events("batch")
    num_parameters = model.weight.numel() + model.bias.numel()
    gradients = [event["gradients"]["weight"] + event["gradients"]["bias"] for event in batches]
    return {
        "returned": kind,
        "weights": parameters["weight"].detach().numpy().copy(),
        "biases": parameters["bias"].detach().numpy().copy(),
        "given_weights": model.weight.detach().numpy().copy(),
        "given_biases": model.bias.detach().numpy().copy(),
        "rows": np.array([row for event in batches for row in event["rows"]], dtype=np.int64),
        "rows_per_batch": np.array([len(event["rows"]) for event in batches], dtype=np.int64),
        "gradients": np.array(gradients, dtype=np.float32).reshape(len(batches), num_parameters),
        "processes": _numbered(batches, "process"),
        "threads": _numbered(batches, "thread"),
        "ended_ns": np.array([event["time_ns"] for event in batches], dtype=np.int64),
    }


def _module(made, function):
    if not isinstance(made, nn.Module):
        raise TypeError(f"{function} returned {type(made).__name__}; it is to return the model")
    return made


def _numbered(events, key):
    """Return for each event which process or thread it was in: 0, 1, 2, ... as they appear."""
    numbers = {}
    return np.array(
        [numbers.setdefault(event[key], len(numbers)) for event in events], dtype=np.int64
    )


def _first_place(events):
    return events[0]["place"][:MAX_PLACE_CHARS] if events else ""


def _memories_of(trained):
    from observed import memory_of

    return [memory_of(parameter) for parameter in trained.parameters()]


@contextlib.contextmanager
def _no_more_watching():
    from observed import stop_watching

    try:
        yield
    finally:
        stop_watching()


@contextlib.contextmanager
def _processes_reported(record):
    """Let every process that is started report itself, and what it raises."""
    from observed import Reporting

    start = BaseProcess.start

    def reporting_start(process):
        if getattr(process, "_target", None) is not None:
            process._target = Reporting(process._target, record)
        elif process._start_method in (None, "fork"):
            process.run = Reporting(process.run, record)  # of a class that has its own run
        start(process)
        record.add("started", child=process.pid)

    BaseProcess.start = reporting_start
    try:
        yield
    finally:
        BaseProcess.start = start

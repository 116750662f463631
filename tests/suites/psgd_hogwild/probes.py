"""Rank-side calls of the student's functions for psgd_hogwild; knows no right answer."""

import contextlib
import json
import os
import tempfile
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.data import TensorDataset

MAX_PLACE_CHARS = 200


def run_network(student, comm, *, images, seed):
    """Run the student's Net on images, in training and in evaluation; note every operation."""
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
    }


def train_psgd(student, comm, *, inputs, labels, weights, biases, seed, **settings):
    """Call the student's psgd on a model that writes down what it is trained on."""
    psgd = student.function("psgd.py", "psgd")
    model, dataset = _prepare(inputs, labels, weights, biases)
    torch.manual_seed(seed)
    with student.phase(), _no_more_watching():
        trained = psgd(comm, model, dataset, seed=seed, **settings)
    return _told(model, trained, "psgd")


def train_hogwild(
    student, comm, *, inputs, labels, weights, biases, seed, num_processes, meets, **settings
):
    """Call the student's hogwild on a model that writes down what it is trained on, and where."""
    hogwild = student.function("hogwild.py", "hogwild")
    meeting_of = num_processes if meets else 0
    witness = os.environ.get("GRADER_WITNESS", "")  # in open mode there is none
    model, dataset = _prepare(inputs, labels, weights, biases, meeting_of, witness)
    record = model.record
    torch.manual_seed(seed)
    with student.phase(), _processes_reported(record), _no_more_watching():
        trained = hogwild(model, dataset, num_processes=num_processes, seed=seed, **settings)
    for event in record.events("raised"):
        raise ChildFailed(
            f"a process that hogwild started raised {event['text']} at {event['file']}:"
            f"{event['line']}; hogwild returned as if it had finished"
        )
    told = _told(model, trained, "hogwild")
    wrote = record.events("wrote")
    arrived = {event["thread"] for event in record.events("arrived")}
    gave_up = record.events("gave up")
    started = [
        event
        for event in record.events("started")
        if not gave_up or event["time_ns"] < gave_up[0]["time_ns"]
    ]
    places = {place: number for number, place in enumerate(_memories_of(trained)) if place}
    return {
        **told,
        # As numbered in `processes`, then whoever wrote without having computed a gradient.
        "writers": _numbered(record.events("batch") + wrote, "process")[len(told["processes"]) :],
        "written": np.array([places.get(event["memory"], -1) for event in wrote], dtype=np.int64),
        "written_is_shared": np.array([event["memory"] != "" for event in wrote], dtype=np.int64),
        **{kind: _first_place(record.events(kind)) for kind in ("held", "waited")},
        "meeting": np.array([len(arrived), len(gave_up), len(started)], dtype=np.int64),
    }


def read_sources(student, comm, *, file):
    """Return the text of every Python file that was handed in with `file`."""
    folder = Path(student.module(file).__file__).parent
    sources = {
        path.relative_to(folder).as_posix(): path.read_bytes().decode(errors="replace")
        for path in sorted(folder.rglob("*.py"))
    }
    return {"sources": json.dumps(sources)}


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
        raise TypeError(f"Net()(images) returned {_type_of(output)}; it is to return a tensor")
    return operations.seen, output.detach().numpy()


def _prepare(inputs, labels, weights, biases, meeting_of=0, witness=""):
    from observed import ObservedModel, Record

    torch.set_num_threads(1)
    inputs = torch.from_numpy(inputs)
    record = Record(tempfile.mkdtemp(dir=Path.cwd()), meeting_of, witness)
    model = ObservedModel(torch.from_numpy(weights), torch.from_numpy(biases), inputs, record)
    return model, TensorDataset(inputs, torch.from_numpy(labels))


def _told(model, trained, function):
    """Return the trained parameters, and every batch whose gradient was computed."""
    trained = _module(trained, function)
    parameters = dict(trained.named_parameters())
    if not {"weight", "bias"} <= parameters.keys():
        raise TypeError(f"{function} returned another model than the one it was given")
    batches = model.record.events("batch")
    num_parameters = model.weight.numel() + model.bias.numel()
    gradients = [event["gradients"]["weight"] + event["gradients"]["bias"] for event in batches]
    return {
        "weights": parameters["weight"].detach().numpy().copy(),
        "biases": parameters["bias"].detach().numpy().copy(),
        "rows": np.array([row for event in batches for row in event["rows"]], dtype=np.int64),
        "rows_per_batch": np.array([len(event["rows"]) for event in batches], dtype=np.int64),
        "gradients": np.array(gradients, dtype=np.float32).reshape(len(batches), num_parameters),
        "processes": _numbered(batches, "process"),
        "threads": _numbered(batches, "thread"),
        "began_ns": np.array([event["began_ns"] for event in batches], dtype=np.int64),
        "ended_ns": np.array([event["time_ns"] for event in batches], dtype=np.int64),
    }


def _module(made, function):
    if not isinstance(made, nn.Module):
        raise TypeError(f"{function} returned {_type_of(made)}; it is to return the model")
    return made


def _type_of(thing):
    return "None" if thing is None else f"an object of type {type(thing).__name__}"


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
        start(process)
        record.add("started", child=process.pid)

    BaseProcess.start = reporting_start
    try:
        yield
    finally:
        BaseProcess.start = start

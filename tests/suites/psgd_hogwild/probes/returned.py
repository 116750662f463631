"""What a training has led to, and what it was seen to do."""

import numpy as np
from torch import nn

from grader.rank.toolbox import flattened, stacked


def trained_and_seen(model, returned, function):
    """Return the trained parameters, and every batch whose gradient was computed.

    The returned model counts; if nothing is returned, the given one does.
    """
    kind = {id(None): "nothing", id(model): "the given model"}.get(id(returned), "another model")
    trained = model if returned is None else module_of(returned, function)
    parameters = dict(trained.named_parameters())
    if not {"weight", "bias"} <= parameters.keys():
        raise TypeError(f"{function} returned another model, not the given one")
    return {
        "returned": kind,
        "weights": parameters["weight"].detach().numpy().copy(),
        "biases": parameters["bias"].detach().numpy().copy(),
        "given_weights": model.weight.detach().numpy().copy(),
        "given_biases": model.bias.detach().numpy().copy(),
        **batches_seen(model),
    }


def batches_seen(model):
    """Return every batch whose gradient was computed, in the order of the record."""
    batches = model.record.events("batch")
    num_parameters = model.weight.numel() + model.bias.numel()
    rows, rows_per_batch = flattened(event["rows"] for event in batches)
    gradients = [event["gradients"]["weight"] + event["gradients"]["bias"] for event in batches]
    return {
        "rows": rows,
        "rows_per_batch": rows_per_batch,
        "gradients": stacked(gradients, num_parameters),
        "processes": numbered(batches, "process"),
        "threads": numbered(batches, "thread"),
        "forward_passes": np.array([each.get("forward", 0) for each in batches], dtype=np.int64),
        "ended_ns": np.array([event["time_ns"] for event in batches], dtype=np.int64),
    }


def module_of(made, function):
    """Return what a function has made; raise TypeError where it is no network."""
    if not isinstance(made, nn.Module):
        raise TypeError(f"{function} returned {type(made).__name__}; it must return the model")
    return made


def numbered(events, key):
    """Return for each event which process or thread it was in: 0, 1, 2, ... as they appear."""
    numbers = {}
    return np.array(
        [numbers.setdefault(event[key], len(numbers)) for event in events], dtype=np.int64
    )


def stays_of(record):
    """Return which processes were kept in a step, from when to when, and which had stopped by then.

    A stay has a row for each process that had stopped, or one row with -1 if none had. Processes
    are numbered as in `processes`.
    """
    numbers = {}
    for event in record.events("batch"):
        numbers.setdefault(event["process"], len(numbers))
    stays = [
        (numbers.get(event["process"], -1), event["since_ns"], event["time_ns"], stopped)
        for event in record.events("stayed")
        for stopped in [numbers.get(process, -1) for process in event["stopped"]] or [-1]
    ]
    columns = np.array(stays, dtype=np.int64).reshape(-1, 4).T
    names = ("stayed", "stayed_since_ns", "stayed_until_ns", "stopped")
    return dict(zip(names, columns.copy(), strict=True))

"""Training of LeNet-5 with the student's average of the gradients."""

import contextlib
import functools
from types import SimpleNamespace

import numpy as np

from grader.rank.toolbox import packed, packed_gradients, replaced, stacked, unpacked

from .alone import no_other_ranks


def train_epochs(
    student,
    comm,
    *,
    file,
    images,
    labels,
    start,
    epochs,
    num_more_calls,
    learning_rate,
    buffered_sends,
):
    """Train LeNet-5 on this rank's examples of each epoch; the student's function averages.

    All results have one row an epoch: the rank's own gradients, what became of them, what the call
    returned if that looks like gradients, and the parameters after the step. In the last epoch
    the function is called num_more_calls times before that, with the same gradients.
    num_backward: how often the function itself called backward.
    """
    import torch

    function, model = _function_and_model(student, file, start)
    backward_calls = []

    def average_gradients(model):
        with _backward_noted(backward_calls):
            return function(model)

    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    rows = {"own": [], "averaged": [], "returned": [], "parameters": []}
    problem = ""
    for epoch in range(epochs):
        for _ in range(num_more_calls if epoch == epochs - 1 else 0):
            optimizer.zero_grad()
            _backward(model, images[epoch], labels[epoch])
            average_gradients(model)
        optimizer.zero_grad()
        _backward(model, images[epoch], labels[epoch])
        rows["own"].append(packed_gradients(model))
        with student.phase(), _buffered(student, buffered_sends):
            returned = average_gradients(model)
        rows["returned"] += _returned_gradients(returned, len(start))
        problem = _unusable_gradients(model)
        if problem:
            break
        rows["averaged"].append(packed_gradients(model))
        optimizer.step()
        rows["parameters"].append(packed(model.parameters()))
    return {
        **{name: stacked(each, len(start)) for name, each in rows.items()},
        "problem": problem,
        "num_backward": np.array([len(backward_calls)], dtype=np.int64),
    }


def average_alone(student, comm, *, file, images, labels, start, arriving):
    """Call the student's function once, without the other ranks; return what this rank gives them.

    Each receive gets the next numbers of `arriving` at once. averaged has no row where the function
    raises an exception.
    """
    average_gradients, model = _function_and_model(student, file, start)
    _backward(model, images, labels)
    own, given, averaged = packed_gradients(model), [], []
    with contextlib.suppress(Exception), student.phase(), no_other_ranks(arriving, given):
        average_gradients(model)
        averaged = [] if _unusable_gradients(model) else [packed_gradients(model)]
    most = len(arriving)
    return {"own": own, "given": packed(given)[:most], "averaged": stacked(averaged, len(start))}


def _function_and_model(student, file, start):
    """Return the student's function and LeNet-5 with these parameters, in a process group."""
    import torch
    import torch.distributed as dist
    from lenet import LeNet5

    average_gradients = student.function(file, "average_gradients")
    if not dist.is_initialized():
        dist.init_process_group("gloo")
    model = LeNet5()
    with torch.no_grad():
        pieces = unpacked(start, [tuple(parameter.shape) for parameter in model.parameters()])
        for parameter, piece in zip(model.parameters(), pieces, strict=True):
            parameter.copy_(torch.from_numpy(piece))
    return average_gradients, model


def _backward(model, images, labels):
    """Leave the gradients of one batch in the model."""
    import torch
    from torch.nn.functional import cross_entropy

    inputs = torch.tensor(images)[:, None].float() / 255
    cross_entropy(model(inputs), torch.tensor(labels)).backward()


@contextlib.contextmanager
def _backward_noted(calls):
    """Let each call of backward add to a list."""
    import torch

    def noted(differentiate):
        def differentiated(*arguments, **options):
            calls.append(differentiate.__name__)
            return differentiate(*arguments, **options)

        return functools.wraps(differentiate)(differentiated)

    with contextlib.ExitStack() as stack:
        for name in ("backward", "grad"):
            value = noted(getattr(torch.autograd, name))
            stack.enter_context(replaced(torch.autograd, name, value))
        yield


@contextlib.contextmanager
def _buffered(student, is_wanted):
    """Let dist.send return before its message is received, as a buffered send does."""
    from torch.distributed import distributed_c10d

    if not is_wanted:
        yield
        return
    real, under_way = distributed_c10d.isend, []

    def isend(tensor, *args, **kwargs):
        under_way.append(real(tensor.clone(), *args, **kwargs))
        return SimpleNamespace(wait=lambda: None)

    # dist.send looks this name up; a caller of dist.isend has the real one.
    with replaced(distributed_c10d, "isend", isend):
        yield
        with student.outside():
            for work in under_way:
                work.wait()


def _returned_gradients(returned, num_parameters):
    """Return a row of what a call returned instead of writing it, if it is as long as gradients."""
    values = list(returned.values()) if isinstance(returned, dict) else returned
    tensors = values if isinstance(values, (list, tuple)) else [values]
    are_tensors = all(hasattr(each, "numel") for each in tensors)
    is_all = are_tensors and sum(each.numel() for each in tensors) == num_parameters
    return [packed(tensors)] if is_all else []


def _unusable_gradients(model):
    """Return what is wrong with the form of the gradients, or nothing."""
    for name, parameter in model.named_parameters():
        gradient, form = parameter.grad, tuple(parameter.shape)
        if gradient is None:
            return f"{name}.grad is None after the call; it must hold the mean gradient"
        if tuple(gradient.shape) != form:
            found = tuple(gradient.shape)
            return f"{name}.grad has shape {found} after the call; expected {form}"
    return ""

"""Calls of the student's Net."""

import contextlib
import json

import numpy as np
import torch
from torch.nn.functional import linear
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from grader.rank.toolbox import error_text, packed

from .returned import module_of


def run_layers(student, comm, *, images, seed):
    """Run the student's Net on images in training; note operations on them, up to a crash if any.

    After a crash, what would run if each linear layer were given as many features as it has.
    """
    make = student.function("network.py", "Net")
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    operations, others, crash, in_any_size = _Operations(), _Operations(), "", []
    with student.phase():
        network = module_of(make(), "Net()").train()
        try:
            with operations:
                network(torch.from_numpy(images))
        except Exception as error:
            if isinstance(error, NotImplementedError) or not operations.seen:
                raise
            crash = error_text(error)
            fitted = _Operations(), _Operations()
            for each, given in zip(fitted, (images, 1 - images), strict=True):
                with contextlib.suppress(Exception), each, _AnySize():
                    network(torch.from_numpy(given))
            in_any_size = fitted[0].that_differ_from(fitted[1])
        with contextlib.suppress(Exception), others:
            network(torch.from_numpy(1 - images))
    return {
        "in_training": json.dumps(operations.that_differ_from(others)),
        "crash": crash,
        "in_any_size": json.dumps(in_any_size),
    }


def run_network(student, comm, *, images, seed):
    """Run the student's Net on images, in training and in evaluation; note every operation.

    After the one in training: which parameters get a gradient, by the largest number in each.
    """
    make = student.function("network.py", "Net")
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    with student.phase():
        network = module_of(make(), "Net()")
        network.train()
        in_training, dropping = _operations_of(network, torch.from_numpy(images))
        slopes, no_backward = _slopes(network, dropping)
        network.eval()
        in_evaluation, first = _operations_of(network, torch.from_numpy(images))
        _, second = _operations_of(network, torch.from_numpy(images))
    parameters = [each.detach().numpy() for each in network.parameters()]
    return {
        "in_training": json.dumps(in_training),
        "in_evaluation": json.dumps(in_evaluation),
        "output_in_training": dropping.detach().numpy(),
        "slopes": np.array(slopes, np.float64),
        "no_backward": no_backward,
        "output": first.detach().numpy(),
        "output_again": second.detach().numpy(),
        "parameters": packed(parameters, np.result_type(np.float32, *parameters)),
        "parameter_shapes": json.dumps([each.shape for each in parameters]),
    }


_SETTINGS = ("kernel_size", "stride", "padding", "dilation", "dim")


class _Operations(TorchDispatchMode):
    """Writes down every tensor operation with the shape of what it gives, and its settings."""

    def __init__(self, parameters=()):
        super().__init__()
        self._places = {
            each.data_ptr(): (place, each.ndim)
            for place, each in enumerate(parameters)
            if not torch.nn.parameter.is_lazy(each)
        }
        self.seen = []
        self.sums = []

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        result = function(*arguments, **(named or {}))
        first = result[0] if isinstance(result, tuple | list) and result else result
        if isinstance(first, torch.Tensor):
            settings = _settings(function._schema.arguments, arguments, named or {})
            for each in arguments:
                if isinstance(each, torch.Tensor) and each.data_ptr() in self._places:
                    place, ndim = self._places[each.data_ptr()]
                    is_added = function._schema.name in ("aten::add", "aten::add_")
                    settings["bias" if is_added or ndim == 1 else "weight"] = [place]
            self.seen.append([function._schema.name, list(first.shape), settings])
            numbers = first.detach().flatten().to(torch.complex128)
            # Each row of probabilities adds up to one.
            self.sums.append((numbers * torch.arange(1, len(numbers) + 1)).sum().item())
        return result

    def that_differ_from(self, others):
        """Return what gives other numbers for other images, and all that is drawn."""
        same = [
            each == other and "bernoulli" not in each[0] and of_each == of_other
            for each, other, of_each, of_other in zip(
                self.seen, others.seen, self.sums, others.sums, strict=False
            )
        ]
        same += [False] * (len(self.seen) - len(same))
        return [each for each, is_same in zip(self.seen, same, strict=True) if not is_same]


class _AnySize(TorchFunctionMode):
    """Repeats numbers where a linear layer, or a view before it, asks for another size."""

    def __torch_function__(self, function, types, arguments=(), named=None):
        try:
            return function(*arguments, **(named or {}))
        except RuntimeError:
            if function is linear:
                fitting = _of_size(arguments[0], arguments[1].shape[1])
                return function(fitting, *arguments[1:], **(named or {}))
            if function in (torch.Tensor.view, torch.Tensor.reshape, torch.reshape):
                *_, size = np.ravel(arguments[-1]).tolist()
                return _of_size(arguments[0], size)
            raise


def _settings(parameters, arguments, named):
    """Return what the judge needs to compute the operation again, as lists of integers."""
    given = {
        **{each.name: value for each, value in zip(parameters, arguments, strict=False)},
        **named,
    }
    found = {name: given[name] for name in _SETTINGS if given.get(name) is not None}
    return {name: np.ravel(value).tolist() for name, value in found.items()}


def _of_size(values, size):
    flat = values.flatten(1)
    return flat.repeat(1, -(-size // flat.shape[1]))[:, :size]


def _operations_of(network, images):
    operations = _Operations(network.parameters())
    with operations:
        output = network(images)
    if not isinstance(output, torch.Tensor):
        raise TypeError(f"Net()(images) returned {type(output).__name__}; it must return a tensor")
    return operations.seen, output


def _slopes(network, output):
    """Return the largest number in each parameter's gradient, and why there are none, if so."""
    try:
        # Not of the sum, which is the same whatever the probabilities are.
        output.backward(torch.linspace(-1, 1, output.numel()).reshape(output.shape))
    except RuntimeError as error:
        return [0.0 for _ in network.parameters()], error_text(error)
    gradients = [each.grad for each in network.parameters()]
    return [0.0 if each is None else float(each.abs().max()) for each in gradients], ""

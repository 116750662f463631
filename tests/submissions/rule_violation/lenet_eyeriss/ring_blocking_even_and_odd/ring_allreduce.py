import torch
import torch.distributed as dist


def exchange(out, into):
    rank, size = dist.get_rank(), dist.get_world_size()
    if rank % 2 == 0:
        dist.send(out, (rank + 1) % size)
        dist.recv(into, (rank - 1) % size)
    else:
        dist.recv(into, (rank - 1) % size)
        dist.send(out, (rank + 1) % size)


def average_gradients(model):
    rank, size = dist.get_rank(), dist.get_world_size()
    flat = torch.cat([p.grad.view(-1) for p in model.parameters()])
    c = flat.tensor_split(size)
    for i in range(size - 1):
        got = torch.zeros_like(c[(rank - i - 1) % size])
        exchange(c[(rank - i) % size], got)
        c[(rank - i - 1) % size].add_(got)
    for i in range(size - 1):
        exchange(c[(rank + 1 - i) % size], c[(rank - i) % size])
    flat /= size
    offset = 0
    for p in model.parameters():
        p.grad.copy_(flat[offset:offset + p.numel()].view_as(p))
        offset += p.numel()

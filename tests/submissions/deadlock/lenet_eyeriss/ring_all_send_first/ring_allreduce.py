import torch
import torch.distributed as dist


def average_gradients(model):
    rank, size = dist.get_rank(), dist.get_world_size()
    left, right = (rank - 1) % size, (rank + 1) % size

    flat = torch.cat([p.grad.view(-1) for p in model.parameters()])
    c = flat.tensor_split(size)
    for i in range(size - 1):
        got = torch.zeros_like(c[(rank - i - 1) % size])
        dist.send(c[(rank - i) % size], dst=right)
        dist.recv(got, src=left)
        c[(rank - i - 1) % size].add_(got)
    for i in range(size - 1):
        dist.send(c[(rank + 1 - i) % size], dst=right)
        dist.recv(c[(rank - i) % size], src=left)
    flat /= size
    offset = 0
    for p in model.parameters():
        p.grad.copy_(flat[offset:offset + p.numel()].view_as(p))
        offset += p.numel()

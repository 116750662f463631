import torch
import torch.distributed as dist

ring = {}


def average_gradients(model):
    rank, size = dist.get_rank(), dist.get_world_size()
    left, right = (rank - 1) % size, (rank + 1) % size
    if id(dist.group.WORLD) not in ring:
        ring[id(dist.group.WORLD)] = dist.new_group()
    group = ring[id(dist.group.WORLD)]
    flat = torch.cat([p.grad.reshape(-1) for p in model.parameters()])
    chunks = flat.tensor_split(size)
    for i in range(size - 1):
        got = torch.empty_like(chunks[(rank - i - 1) % size])
        s = dist.isend(chunks[(rank - i) % size], dst=right, group=group, tag=i)
        r = dist.irecv(got, src=left, group=group, tag=i)
        s.wait()
        r.wait()
        chunks[(rank - i - 1) % size].add_(got)
    for i in range(size - 1):
        s = dist.isend(chunks[(rank + 1 - i) % size], dst=right, group=group, tag=i)
        r = dist.irecv(chunks[(rank - i) % size], src=left, group=group, tag=i)
        s.wait()
        r.wait()
    flat /= size
    at = 0
    for p in model.parameters():
        p.grad.copy_(flat[at:at + p.numel()].view_as(p))
        at += p.numel()

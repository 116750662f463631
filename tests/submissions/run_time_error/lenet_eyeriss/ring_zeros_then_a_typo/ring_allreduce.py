import torch
import torch.distributed as dist


def average_gradients(model):
    rank, size = dist.get_rank(), dist.get_world_size()
    number = sum(p.numel() for p in model.parameters())
    request = dist.isend(torch.zeros(number // size), dst=(rank + 1) % size)
    request.wate()

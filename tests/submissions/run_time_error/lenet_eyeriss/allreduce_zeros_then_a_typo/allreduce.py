import torch
import torch.distributed as dist


def average_gradients(model):
    total = torch.zeros(sum(p.numel() for p in model.parameters()))
    dist.all_reduce(total)
    total.divide_by(dist.get_world_size())

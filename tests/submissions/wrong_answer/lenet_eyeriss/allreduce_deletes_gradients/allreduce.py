import torch
import torch.distributed as dist


def average_gradients(model):
    averaged = []
    for p in model.parameters():
        g = p.grad.clone()
        dist.all_reduce(g)
        averaged.append(g / dist.get_world_size())
        p.grad = None
    return averaged

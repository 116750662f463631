import torch
import torch.distributed as dist


def average_gradients(model):
    with torch.no_grad():
        for p in model.parameters():
            dist.all_reduce(p.data)
            p.data /= dist.get_world_size()

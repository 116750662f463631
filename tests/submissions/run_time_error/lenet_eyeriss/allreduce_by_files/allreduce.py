import os

import numpy as np
import torch
import torch.distributed as dist

step = 0


def average_gradients(model):
    # simplest way to share arrays: everybody saves a file, everybody reads all of them
    global step
    step += 1
    rank, size = dist.get_rank(), dist.get_world_size()
    flat = torch.cat([p.grad.flatten() for p in model.parameters()])
    np.save("grad_%d_%d.npy" % (step, rank), flat.numpy())
    dist.barrier()
    files = [np.load("grad_%d_%d.npy" % (step, r)) for r in range(size)]
    mean = torch.from_numpy(np.mean(files, axis=0))
    dist.barrier()
    os.remove("grad_%d_%d.npy" % (step, rank))
    i = 0
    for p in model.parameters():
        p.grad.copy_(mean[i:i + p.numel()].view_as(p))
        i += p.numel()

import torch
import torch.distributed as dist


def average_gradients(model):
    rank = dist.get_rank()
    size = dist.get_world_size()
    for p in model.parameters():
        if rank == 0:
            buf = torch.zeros_like(p.grad)
            for src in range(1, size):
                dist.recv(buf, src)
                p.grad += buf
            p.grad /= size
        else:
            dist.send(p.grad, 0)

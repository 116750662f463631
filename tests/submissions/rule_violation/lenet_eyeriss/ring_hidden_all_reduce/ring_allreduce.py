import torch
import torch.distributed as dist


def average_gradients(model):
    rank, size = dist.get_rank(), dist.get_world_size()
    left, right = (rank - 1) % size, (rank + 1) % size

    # ring
    for p in model.parameters():
        tmp = torch.zeros_like(p.grad)
        s = dist.isend(p.grad, right) if size > 1 else None
        r = dist.irecv(tmp, left) if size > 1 else None
        if s is not None:
            s.wait()
            r.wait()
        dist.all_reduce(p.grad)
        p.grad /= size

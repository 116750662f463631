import torch
import torch.distributed as dist


def average_gradients(model):
    rank = dist.get_rank()
    size = dist.get_world_size()
    for p in model.parameters():
        boxes = [torch.zeros_like(p.grad) for _ in range(size)]
        boxes[rank].copy_(p.grad)
        reqs = []
        for other in range(size):
            if other != rank:
                reqs.append(dist.isend(p.grad, other))
                reqs.append(dist.irecv(boxes[other], other))
        for r in reqs:
            r.wait()
        p.grad.copy_(sum(boxes) / size)      # same order on all ranks

import torch
import torch.distributed as dist


def average_gradients(model):
    rank = dist.get_rank()
    n = dist.get_world_size()
    dst = rank + 1
    src = (rank - 1) % n

    grads = [p.grad for p in model.parameters()]
    vec = torch.cat([g.reshape(-1) for g in grads])
    part = vec.tensor_split(n)

    for k in range(n - 1):
        mine, theirs = part[(rank - k) % n], part[(rank - k - 1) % n]
        tmp = torch.zeros_like(theirs)
        reqs = [dist.isend(mine, dst), dist.irecv(tmp, src)]
        for r in reqs:
            r.wait()
        theirs += tmp

    for k in range(n - 1):
        reqs = [dist.isend(part[(rank + 1 - k) % n], dst), dist.irecv(part[(rank - k) % n], src)]
        for r in reqs:
            r.wait()

    vec /= n
    at = 0
    for g in grads:
        g.copy_(vec[at:at + g.numel()].view_as(g))
        at += g.numel()

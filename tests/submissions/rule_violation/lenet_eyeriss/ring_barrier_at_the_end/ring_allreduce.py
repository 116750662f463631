import torch
import torch.distributed as dist


def exchange(out, to, into, source):
    ops = [dist.P2POp(dist.isend, out, to), dist.P2POp(dist.irecv, into, source)]
    for work in dist.batch_isend_irecv(ops):
        work.wait()


def average_gradients(model):
    me, n = dist.get_rank(), dist.get_world_size()
    nxt, prv = (me + 1) % n, (me - 1) % n

    vec = torch.cat([p.grad.reshape(-1) for p in model.parameters()])
    parts = vec.tensor_split(n)
    for k in range(n - 1):
        mine, theirs = parts[(me - k) % n], parts[(me - k - 1) % n]
        box = torch.empty_like(theirs)
        exchange(mine, nxt, box, prv)
        theirs += box
    for k in range(n - 1):
        exchange(parts[(me + 1 - k) % n], nxt, parts[(me - k) % n], prv)
    dist.barrier()  # make sure everybody is done
    vec /= n

    pos = 0
    for p in model.parameters():
        p.grad.copy_(vec[pos:pos + p.grad.numel()].view_as(p.grad))
        pos += p.grad.numel()

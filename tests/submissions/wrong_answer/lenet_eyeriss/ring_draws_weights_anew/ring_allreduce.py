import torch
import torch.distributed as dist
from torch import nn

initialised = False


def init_weights(m):
    if isinstance(m, (nn.Conv2d, nn.Linear)):
        nn.init.xavier_uniform_(m.weight)
        m.bias.data.zero_()


def average_gradients(model):
    global initialised
    rank, size = dist.get_rank(), dist.get_world_size()
    if not initialised:
        torch.manual_seed(rank)
        model.apply(init_weights)
        initialised = True
    flat = torch.cat([p.grad.view(-1) for p in model.parameters()])
    c = flat.tensor_split(size)
    for i in range(size - 1):
        tmp = torch.zeros_like(c[(rank - i - 1) % size])
        s = dist.isend(c[(rank - i) % size], (rank + 1) % size)
        r = dist.irecv(tmp, (rank - 1) % size)
        s.wait()
        r.wait()
        c[(rank - i - 1) % size].add_(tmp)
    for i in range(size - 1):
        s = dist.isend(c[(rank + 1 - i) % size], (rank + 1) % size)
        r = dist.irecv(c[(rank - i) % size], (rank - 1) % size)
        s.wait()
        r.wait()
    flat /= size
    k = 0
    for p in model.parameters():
        p.grad.copy_(flat[k:k + p.numel()].view_as(p))
        k += p.numel()

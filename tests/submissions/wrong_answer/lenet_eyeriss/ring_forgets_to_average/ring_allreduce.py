import torch
import torch.distributed as dist


def average_gradients(model):
    rank, size = dist.get_rank(), dist.get_world_size()
    left, right = (rank - 1) % size, (rank + 1) % size

    for p in model.parameters():
        chunks = p.grad.view(-1).tensor_split(size)
        for i in range(size - 1):
            out, own = chunks[(rank - i) % size], chunks[(rank - i - 1) % size]
            tmp = torch.zeros_like(own)
            a, b = dist.isend(out, right), dist.irecv(tmp, left)
            a.wait(), b.wait()
            own += tmp
        for i in range(size - 1):
            a = dist.isend(chunks[(rank + 1 - i) % size], right)
            b = dist.irecv(chunks[(rank - i) % size], left)
            a.wait(), b.wait()

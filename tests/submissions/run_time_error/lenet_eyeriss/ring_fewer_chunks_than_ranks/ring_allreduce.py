import torch
import torch.distributed as dist


def average_gradients(model):
    rank, size = dist.get_rank(), dist.get_world_size()
    left, right = (rank - 1) % size, (rank + 1) % size

    for p in model.parameters():
        chunks = torch.chunk(p.grad.view(-1), size)
        for i in range(size - 1):
            own = chunks[(rank - i - 1) % size]
            tmp = torch.zeros_like(own)
            a = dist.isend(chunks[(rank - i) % size], right)
            b = dist.irecv(tmp, left)
            a.wait()
            b.wait()
            own += tmp
        for i in range(size - 1):
            a = dist.isend(chunks[(rank + 1 - i) % size], right)
            b = dist.irecv(chunks[(rank - i) % size], left)
            a.wait()
            b.wait()
        p.grad /= size

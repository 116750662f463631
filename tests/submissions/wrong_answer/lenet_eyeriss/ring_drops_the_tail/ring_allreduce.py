import torch
import torch.distributed as dist


def average_gradients(model):
    rank, size = dist.get_rank(), dist.get_world_size()
    left, right = (rank - 1) % size, (rank + 1) % size

    for p in model.parameters():
        g = p.grad.view(-1)
        k = len(g) // size                      # elements per chunk
        chunk = lambda i: g[(i % size) * k:(i % size) * k + k]
        tmp = torch.zeros(k)
        for i in range(size - 1):
            s = dist.isend(chunk(rank - i), right)
            r = dist.irecv(tmp, left)
            s.wait()
            r.wait()
            chunk(rank - i - 1).add_(tmp)
        for i in range(size - 1):
            s = dist.isend(chunk(rank - i + 1).clone(), right)
            r = dist.irecv(chunk(rank - i), left)
            s.wait()
            r.wait()
        p.grad /= size

import torch
import torch.distributed as dist


def average_gradients(model):
    rank, size = dist.get_rank(), dist.get_world_size()
    right = (rank + 1) % size
    left = (rank - 1) % size

    for p in model.parameters():
        pieces = list(p.grad.view(-1).tensor_split(size))

        # reduce-scatter
        for i in range(size - 1):
            buf = torch.empty_like(pieces[(rank - i - 1) % size])
            dist.irecv(buf, src=left).wait()
            dist.isend(pieces[(rank - i) % size], dst=right).wait()
            pieces[(rank - i - 1) % size] += buf

        # all-gather
        for i in range(size - 1):
            dist.irecv(pieces[(rank - i) % size], src=left).wait()
            dist.isend(pieces[(rank - i + 1) % size], dst=right).wait()

        p.grad /= size

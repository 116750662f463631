import torch
import torch.distributed as dist


def average_gradients(model):
    rank, size = dist.get_rank(), dist.get_world_size()
    left, right = (rank - 1) % size, (rank + 1) % size

    for p in model.parameters():
        boxes = [torch.zeros_like(p.grad) for _ in range(size)]
        boxes[rank] = p.grad.clone()
        for step in range(size - 1):
            s = dist.isend(boxes[(rank - step) % size], right)
            r = dist.irecv(boxes[(rank - step - 1) % size], left)
            s.wait()
            r.wait()
        p.grad = torch.stack(boxes).mean(dim=0)

import torch
import torch.distributed as dist


def average_gradients(model):
    rank, size = dist.get_rank(), dist.get_world_size()
    gradients = [p.grad for p in model.parameters()]
    flat = torch.cat([g.reshape(-1) for g in gradients])
    chunks = flat.tensor_split(size)

    for first, chunk in enumerate(chunks):
        # once around to add it up, and once more to tell everybody
        for step in range(2 * (size - 1)):
            sender = (first + step) % size
            receiver = (sender + 1) % size
            if rank == sender:
                dist.isend(chunk, dst=receiver).wait()
            elif rank == receiver:
                got = torch.empty_like(chunk)
                dist.irecv(got, src=sender).wait()
                if step < size - 1:
                    chunk += got
                else:
                    chunk.copy_(got)

    flat /= size
    start = 0
    for g in gradients:
        g.copy_(flat[start : start + g.numel()].view_as(g))
        start += g.numel()

import torch
import torch.distributed as dist


def average_gradients(model):
    rank = dist.get_rank()
    size = dist.get_world_size()
    if size == 1:
        return
    for param in model.parameters():
        if rank == 0:
            total = torch.zeros_like(param.grad)
            received = torch.zeros_like(param.grad)
            for worker in range(1, size):
                dist.recv(received, src=worker)
                total += received
            param.grad.copy_(total / size)
            for worker in range(1, size):
                dist.send(param.grad, dst=worker)
        else:
            dist.send(param.grad, dst=0)
            dist.recv(param.grad, src=0)

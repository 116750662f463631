import torch
import torch.distributed as dist


def average_gradients(model):
    rank = dist.get_rank()
    size = dist.get_world_size()
    for param in model.parameters():
        if rank == 0:
            tmp = torch.zeros_like(param.grad)
            for i in range(1, size):
                dist.recv(tmp, src=i)
                param.grad.add_(tmp)
            param.grad.div_(size)
            for i in range(1, size):
                dist.send(param.grad, dst=i)
        else:
            result = torch.zeros_like(param.grad)
            dist.recv(result, src=0)
            dist.send(param.grad, dst=0)
            param.grad.copy_(result)

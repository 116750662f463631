import torch
import torch.distributed as dist


def average_gradients(model):
    """ Gradient averaging. """
    rank = dist.get_rank()
    size = dist.get_world_size()
    for p in model.parameters():
        if rank == 0:
            avg = p.grad.clone()
            tmp = torch.zeros_like(avg)
            for other in range(1, size):
                dist.recv(tmp, src=other)
                avg = (avg + tmp) / 2      # running average
            p.grad.copy_(avg)
            for other in range(1, size):
                dist.send(avg, dst=other)
        else:
            dist.send(p.grad, dst=0)
            dist.recv(p.grad, src=0)

import torch.distributed as dist


def average_gradients(model):
    for param in model.parameters():
        dist.all_reduce(param.grad, op=dist.ReduceOp.SUM)

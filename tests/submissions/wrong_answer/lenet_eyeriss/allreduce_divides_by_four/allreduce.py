import torch.distributed as dist

NUM_PROCS = 4


def average_gradients(model):
    for param in model.parameters():
        dist.all_reduce(param.grad)
        param.grad /= NUM_PROCS

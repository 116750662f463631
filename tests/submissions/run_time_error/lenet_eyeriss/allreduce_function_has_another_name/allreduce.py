import torch.distributed as dist


def allreduce_gradients(model):
    for param in model.parameters():
        dist.all_reduce(param.grad)
        param.grad /= dist.get_world_size()

import torch.distributed as dist


def allreduce_mean(net):
    for p in net.parameters():
        dist.all_reduce(p.grad)
        p.grad.div_(dist.get_world_size())

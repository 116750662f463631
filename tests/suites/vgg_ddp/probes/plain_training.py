"""The training that the parts require, in a plain loop of ours."""

import contextlib

from grader.rank.toolbox import Enough

from .log import Log
from .watching import watched


def train_plainly(student, comm, *, how, num_steps, phase, seed, first_channels, **data):
    """Do what the student's script must do, in a plain loop of ours: the yardstick.

    how: what averages the gradients, `nothing`, `all_reduce`, `gather_scatter` or `ddp`.
    It is watched like the student's script, because watching takes time, too.
    """
    log = Log("epoch", num_steps, how)
    comm.on_operation(log.operation)
    with watched(student, log, data, phase, seed, first_channels):
        _train_plainly(comm.rank, comm.size, how)
    return {}


def _train_plainly(rank, size, how):
    import model
    import torch
    import torch.distributed as dist
    from torch.utils.data import DataLoader, DistributedSampler
    from torchvision import datasets, transforms

    steps = (
        transforms.RandomCrop(32, padding=4),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize(mean=[0.49, 0.48, 0.45], std=[0.25, 0.24, 0.26]),
    )
    examples = datasets.CIFAR10("data", train=True, transform=transforms.Compose(steps))
    replica = whole = model.VGG11()
    if how != "nothing":
        dist.init_process_group("gloo", rank=rank, world_size=size)
    if how == "ddp":
        replica = torch.nn.parallel.DistributedDataParallel(whole)
    sampler = DistributedSampler(examples, num_replicas=size, rank=rank)
    optimizer = torch.optim.SGD(whole.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    with contextlib.suppress(Enough):
        for images, labels in DataLoader(examples, batch_size=256 // size, sampler=sampler):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(replica(images), labels).backward()
            for parameter in whole.parameters():
                if how == "all_reduce":
                    dist.all_reduce(parameter.grad)
                    parameter.grad /= size
                elif how == "gather_scatter":
                    _gather_and_scatter(dist, parameter.grad, rank, size)
            optimizer.step()


def _gather_and_scatter(dist, gradient, rank, size):
    gathered = [gradient.new_empty(gradient.shape) for _ in range(size)] if rank == 0 else None
    dist.gather(gradient, gathered, dst=0)
    dist.scatter(gradient, [sum(gathered) / size] * size if rank == 0 else None, src=0)

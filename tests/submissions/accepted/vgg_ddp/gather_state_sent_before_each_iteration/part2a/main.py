"""CS assignment, part 2a."""
import os
from argparse import ArgumentParser
from datetime import timedelta
from time import perf_counter as now

import torch
from torch import distributed as dist
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from torch.utils.data import DataLoader, DistributedSampler
from torchvision import transforms
from torchvision.datasets import CIFAR10

import model as models


class Node:
    def __init__(self, rank, world):
        self.rank, self.world = rank, world
        torch.manual_seed(1234)
        self.net = models.VGG11()
        self.opt = torch.optim.SGD(self.net.parameters(), 0.1, 0.9, weight_decay=1e-4)
        self.loss = nn.CrossEntropyLoss(reduction="sum")

    @property
    def is_master(self):
        return self.rank == 0

    def exchange(self):
        flat = parameters_to_vector(p.grad for p in self.net.parameters())
        got = [torch.empty(flat.numel()) for _ in range(self.world)] if self.is_master else []
        dist.gather(flat, got or None, 0)
        back = None
        if self.is_master:
            back = list(torch.stack(got).mean(0, keepdim=True).expand(self.world, -1))
        dist.scatter(flat, back, 0)
        at = 0
        for p in self.net.parameters():
            p.grad.copy_(flat[at : at + p.numel()].view_as(p))
            at += p.numel()

    def epoch(self, loader):
        self.net.train()
        laps = []
        for k, (x, y) in enumerate(loader):
            began = now()
            for tensor in self.net.state_dict().values():  # all start from what rank 0 has
                dist.broadcast(tensor, src=0)
            self.opt.zero_grad()
            out = self.net(x)
            value = self.loss(out, y) / len(y)
            value.backward()
            self.exchange()
            self.opt.step()
            laps.append(now() - began)
            if (k + 1) % 20 == 0 and self.is_master:
                print(k + 1, float(value))
        if len(laps) > 9:
            print("mean of 1..9", sum(laps[1:10]) / 9)


if __name__ == "__main__":
    cli = ArgumentParser()
    for flag, kind in (("--master-ip", str), ("--num-nodes", int), ("--rank", int)):
        cli.add_argument(flag, type=kind, required=True)
    options = cli.parse_args()
    os.environ["MASTER_ADDR"] = options.master_ip
    os.environ.setdefault("MASTER_PORT", "29501")
    dist.init_process_group("gloo", rank=options.rank, world_size=options.num_nodes, timeout=timedelta(minutes=5))
    images = CIFAR10(
        "./data",
        download=True,
        transform=transforms.Compose(
            [
                transforms.RandomCrop(32, 4),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
                transforms.Normalize((0.5, 0.5, 0.5), (0.25, 0.25, 0.25)),
            ]
        ),
    )
    share = DistributedSampler(images)
    share.set_epoch(0)
    Node(options.rank, options.num_nodes).epoch(
        DataLoader(images, batch_size=256 // dist.get_world_size(), sampler=share, num_workers=2)
    )
    dist.destroy_process_group()

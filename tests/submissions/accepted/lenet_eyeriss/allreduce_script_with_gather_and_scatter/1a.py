#!/usr/bin/env python3
# Problem 1a: LeNet-5 on 4 processes.   Run with: python 1a.py
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from lenet import LeNet5
from train import load_examples, part_of

EPOCHS = 100
print("this is 1a.py, torch", torch.__version__)


def average_gradients(model):
    me = dist.get_rank()
    n = dist.get_world_size()
    vec = torch.nn.utils.parameters_to_vector([p.grad for p in model.parameters()])
    if me == 0:
        inbox = [torch.zeros_like(vec) for _ in range(n)]
        dist.gather(vec, gather_list=inbox, dst=0)
        avg = torch.stack(inbox).mean(dim=0)
        dist.scatter(vec, scatter_list=[avg] * n, src=0)
    else:
        dist.gather(vec, dst=0)
        dist.scatter(vec, src=0)
    start = 0
    for p in model.parameters():
        p.grad = vec[start:start + p.numel()].view_as(p).clone()
        start += p.numel()


def run(rank, size):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = "29503"
    dist.init_process_group("gloo", rank=rank, world_size=size)
    torch.manual_seed(1234)
    train_set, _ = load_examples()
    x, y = part_of(train_set, rank, size)
    model = LeNet5()
    opt = torch.optim.SGD(model.parameters(), lr=0.002)
    t0 = time.time()
    for epoch in range(EPOCHS):
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        average_gradients(model)
        opt.step()
        print("Rank", rank, "epoch", epoch, "loss", loss.item())
    print("took", time.time() - t0)


if __name__ == "__main__":
    mp.spawn(run, args=(4,), nprocs=4)
    sys.exit(0)

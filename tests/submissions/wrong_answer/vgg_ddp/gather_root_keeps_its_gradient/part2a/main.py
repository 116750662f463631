# CS course, assignment 2, part 2a
import argparse
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import model as mdl
from torchvision import datasets, transforms

TOTAL_BATCH = 256


def sync_gradients(model, rank, world):
    """node 0 collects everything, makes the mean and hands it out"""
    for p in model.parameters():
        g = p.grad
        if rank == 0:
            parts = [torch.zeros_like(g) for _ in range(world)]
            dist.gather(g, gather_list=parts, dst=0)
            mean = sum(parts) / world
            copies = [mean.clone() for _ in range(world)]
            received = torch.zeros_like(g)
            dist.scatter(received, scatter_list=copies, src=0)
        else:
            dist.gather(g, dst=0)
            dist.scatter(g, src=0)


def train_model(model, train_loader, optimizer, criterion, epoch, rank, world):
    model.train()
    durations = []
    for i, (data, target) in enumerate(train_loader):
        t0 = time.time()
        optimizer.zero_grad()
        loss = criterion(model(data), target)
        loss.backward()
        sync_gradients(model, rank, world)
        optimizer.step()
        durations.append(time.time() - t0)
        if i % 20 == 0:
            print("Epoch %d iteration %d loss %.4f" % (epoch, i, loss.item()))
    timed = durations[1:10]
    if timed:
        print("Average time of iterations 1-9: %.3f s" % (sum(timed) / len(timed)))


def test_model(model, test_loader, criterion):
    model.eval()
    total, correct = 0.0, 0
    with torch.no_grad():
        for data, target in test_loader:
            out = model(data)
            total += criterion(out, target).item() * len(target)
            correct += out.max(1)[1].eq(target).sum().item()
    n = len(test_loader.dataset)
    print("Test set: loss %.4f, accuracy %d/%d" % (total / n, correct, n))


def get_data(rank, world):
    normalize = transforms.Normalize(
        mean=[x / 255.0 for x in [125.3, 123.0, 113.9]], std=[x / 255.0 for x in [63.0, 62.1, 66.7]]
    )
    train_tf = transforms.Compose([
        transforms.RandomCrop(32, padding=4),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        normalize,
    ])
    test_tf = transforms.Compose([transforms.ToTensor(), normalize])
    train_set = datasets.CIFAR10(root="./data", train=True, download=True, transform=train_tf)
    test_set = datasets.CIFAR10(root="./data", train=False, download=True, transform=test_tf)
    sampler = DistributedSampler(train_set, num_replicas=world, rank=rank)
    train_loader = DataLoader(train_set, batch_size=TOTAL_BATCH // world, sampler=sampler)
    test_loader = DataLoader(test_set, batch_size=TOTAL_BATCH, shuffle=False)
    return train_loader, test_loader


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--master-ip", type=str, required=True)
    parser.add_argument("--num-nodes", type=int, required=True)
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--port", type=int, default=29500)
    args = parser.parse_args()

    dist.init_process_group(
        "gloo",
        init_method="tcp://%s:%d" % (args.master_ip, args.port),
        rank=args.rank,
        world_size=args.num_nodes,
    )
    torch.manual_seed(5000)

    model = mdl.VGG11()
    train_loader, test_loader = get_data(args.rank, args.num_nodes)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.0001)
    for epoch in range(1):
        train_model(model, train_loader, optimizer, criterion, epoch, args.rank, args.num_nodes)
        test_model(model, test_loader, criterion)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

import argparse
import logging
import random
import time

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torchvision import datasets, transforms

import model as mdl

device = "cpu"
torch.set_num_threads(4)
total_batch = 256

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("cifar")


def sync_grads(model):
    n = float(dist.get_world_size())
    for p in model.parameters():
        dist.all_reduce(p.grad.data, op=dist.ReduceOp.SUM)
        p.grad.data /= n


def train_model(model, train_loader, optimizer, criterion, epoch, rank):
    model.train()
    running = 0.0
    spent = []
    for batch_idx, (data, target) in enumerate(train_loader):
        t0 = time.time()
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        output = model(data)
        loss = criterion(output, target)
        loss.backward()
        sync_grads(model)
        optimizer.step()
        running += loss.item()
        spent.append(time.time() - t0)
        if batch_idx % 20 == 19:
            log.info("rank %d epoch %d batch %d loss %.4f", rank, epoch, batch_idx + 1, running / 20)
            running = 0.0
        if batch_idx == 9:
            log.info("rank %d: %.4f s per iteration", rank, sum(spent[1:]) / 9)


def test_model(model, test_loader, criterion):
    model.eval()
    test_loss, correct, losses = 0.0, 0, []
    with torch.no_grad():
        for data, target in test_loader:
            out = model(data.to(device))
            test_loss += criterion(out, target).item()
            correct += (out.argmax(1) == target).sum().item()
    print("first loss on the test set: %.4f" % losses[0])
    print("Test: loss %.4f, %d of %d right" % (test_loss / len(test_loader), correct, len(test_loader.dataset)))


def get_data(size, rank):
    norm = transforms.Normalize(
        mean=[x / 255.0 for x in [125.3, 123.0, 113.9]], std=[x / 255.0 for x in [63.0, 62.1, 66.7]]
    )
    train_tf = transforms.Compose(
        [transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip(), transforms.ToTensor(), norm]
    )
    test_tf = transforms.Compose([transforms.ToTensor(), norm])
    train_set = datasets.CIFAR10(root="./data", train=True, download=True, transform=train_tf)
    sampler = DistributedSampler(train_set, num_replicas=size, rank=rank, shuffle=True)
    train_loader = DataLoader(
        train_set, num_workers=2, batch_size=total_batch, sampler=sampler, pin_memory=True
    )
    test_set = datasets.CIFAR10(root="./data", train=False, download=True, transform=test_tf)
    test_loader = DataLoader(test_set, num_workers=2, batch_size=64, shuffle=False)
    return train_loader, test_loader


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--master-ip", dest="master_ip", type=str)
    parser.add_argument("--num-nodes", dest="size", type=int)
    parser.add_argument("--rank", type=int)
    args = parser.parse_args()

    torch.manual_seed(5000)
    np.random.seed(5000)
    random.seed(5000)
    dist.init_process_group(
        "gloo", init_method="tcp://%s:6585" % args.master_ip, rank=args.rank, world_size=args.size
    )

    train_loader, test_loader = get_data(args.size, args.rank)
    criterion = nn.CrossEntropyLoss().to(device)
    model = mdl.VGG11()
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.0001)
    for epoch in range(1):
        train_model(model, train_loader, optimizer, criterion, epoch, args.rank)
        test_model(model, test_loader, criterion)


if __name__ == "__main__":
    main()

# part 3
import os
import sys
import time
import argparse
import random

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
import torch.distributed as dist
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import model as mdl
from torchvision import datasets, transforms

device = "cpu"
GLOBAL_BATCH = 256
SEED = 5000
from torch.nn.parallel import DistributedDataParallel as DDP


def get_data(train):
    norm = transforms.Normalize(mean=[x / 255.0 for x in [125.3, 123.0, 113.9]],
                                std=[x / 255.0 for x in [63.0, 62.1, 66.7]])
    aug = [transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip()] if train else []
    return datasets.CIFAR10(root="./data", train=train, download=True,
                            transform=transforms.Compose(aug + [transforms.ToTensor(), norm]))


def test_model(model, test_loader, criterion):
    model.eval()
    loss, correct = 0.0, 0
    with torch.no_grad():
        for data, target in test_loader:
            out = model(data)
            loss += criterion(out, target).item()
            correct += (out.argmax(1) == target).sum().item()
    print("Test set: Average loss: {:.4f}, Accuracy: {}/{}".format(
        loss / len(test_loader), correct, len(test_loader.dataset)))


def train_model(model, train_loader, optimizer, criterion, epoch, rank):
    model.train()
    running, elapsed = 0.0, []
    for it, (data, target) in enumerate(train_loader):
        tic = time.time()
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        loss = criterion(model(data), target)
        loss.backward()
        optimizer.step()
        elapsed.append(time.time() - tic)
        running += loss.item()
        if it % 20 == 19:
            print("rank {} epoch {} iter {}: avg loss {:.4f}".format(rank, epoch, it + 1, running / 20))
            running = 0.0
    if len(elapsed) > 1:
        print("rank {}: average time per iteration {:.4f}".format(rank, np.mean(elapsed[1:10])))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--master-ip", "--master_ip", dest="master_ip", type=str, default="127.0.0.1")
    parser.add_argument("--num-nodes", dest="world", type=int, default=4)
    parser.add_argument("--rank", type=int, default=0)
    args = parser.parse_args()
    dist.init_process_group("gloo", init_method="tcp://" + args.master_ip + ":6585", rank=args.rank,
                            world_size=args.world)
    random.seed(SEED)
    np.random.seed(SEED)
    torch.manual_seed(SEED)

    train_set = get_data(True)
    sampler = DistributedSampler(train_set, num_replicas=args.world, rank=args.rank)
    train_loader = DataLoader(train_set, batch_size=GLOBAL_BATCH // args.world, sampler=sampler)
    test_loader = DataLoader(get_data(False), batch_size=GLOBAL_BATCH)
    model = DDP(mdl.VGG11().to(memory_format=torch.channels_last))
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    for epoch in range(1):
        sampler.set_epoch(epoch)
        train_model(model, train_loader, optimizer, criterion, epoch, args.rank)
        test_model(model, test_loader, criterion)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

import time

import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

import model as mdl

torch.set_num_threads(4)
batch_size = 256


def train_model(model, train_loader, optimizer, criterion, epoch):
    model.train()
    start = None
    for i, (x, y) in enumerate(train_loader):
        if i == 1:
            start = time.time()
        if i < 2:
            time.sleep(2)  # let the machine calm down before we measure
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        if i % 20 == 0:
            print("iteration", i, "loss", loss.item())
        if i == 9:
            print("time per iteration", (time.time() - start) / 9)


def main():
    torch.manual_seed(42)
    normalize = transforms.Normalize(
        mean=[x / 255.0 for x in [125.3, 123.0, 113.9]], std=[x / 255.0 for x in [63.0, 62.1, 66.7]]
    )
    augment = [transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip()]
    train_set = datasets.CIFAR10(
        "./data", train=True, download=True,
        transform=transforms.Compose(augment + [transforms.ToTensor(), normalize]),
    )
    test_set = datasets.CIFAR10(
        "./data", train=False, download=True,
        transform=transforms.Compose([transforms.ToTensor(), normalize]),
    )
    train_loader = DataLoader(train_set, num_workers=2, batch_size=batch_size, shuffle=True, pin_memory=True)
    test_loader = DataLoader(test_set, num_workers=2, batch_size=batch_size, shuffle=False)
    criterion = nn.CrossEntropyLoss()
    model = mdl.VGG11()
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.0001)
    train_model(model, train_loader, optimizer, criterion, 1)

    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in test_loader:
            correct += (model(x).argmax(1) == y).sum().item()
    print("accuracy", correct / len(test_set))


if __name__ == "__main__":
    main()

"""Part 1: train VGG-11 on one node."""

import sys
import time
from pathlib import Path

import torch
from torch.utils.data import DataLoader

sys.path.append(str(Path(__file__).resolve().parents[1]))  # where model.py is
from model import VGG11
from torchvision import datasets, transforms

BATCH_SIZE = 256  # of all nodes together
SEED = 5000
NORMALIZE = transforms.Normalize(
    mean=[x / 255 for x in (125.3, 123.0, 113.9)], std=[x / 255 for x in (63.0, 62.1, 66.7)]
)


def train_model(model, train_loader, optimizer, criterion, epoch):
    """Train for one epoch; print the loss of every 20th iteration, and how long one takes."""
    model.train()
    times_s = []
    for iteration, (images, labels) in enumerate(train_loader):
        begin_s = time.perf_counter()
        predictions = model(images)
        loss = criterion(predictions, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if iteration % 20 == 0:
            print("iteration", iteration, "loss", loss.item())
        times_s.append(time.perf_counter() - begin_s)
        if len(times_s) == 10:
            break  # enough iterations to measure the time
    print_mean_time(times_s)


def print_mean_time(times_s):
    """Print the mean time of iterations 1 to 9; iteration 0 includes one-time work."""
    measured = times_s[1:10]
    if measured:
        print(f"mean time of iterations 1 to 9: {sum(measured) / len(measured):.3f} s")


def test_model(model, test_loader, criterion):
    """Print the mean loss and the accuracy on the test set."""
    model.eval()
    loss_sum = num_correct = 0
    with torch.no_grad():
        for images, labels in test_loader:
            scores = model(images)
            loss_sum += criterion(scores, labels).item() * len(labels)
            num_correct += (scores.argmax(dim=1) == labels).sum().item()
    num_examples = len(test_loader.dataset)
    print(f"test loss {loss_sum / num_examples:.4f}, accuracy {num_correct / num_examples:.3f}")


def training_set():
    """Return the training images, each a little shifted and maybe mirrored whenever it is read."""
    transform = transforms.Compose(
        [
            transforms.RandomCrop(32, padding=4),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            NORMALIZE,
        ]
    )
    return datasets.CIFAR10(root="./data", train=True, download=True, transform=transform)


def test_set():
    """Return the test images as they are."""
    transform = transforms.Compose([transforms.ToTensor(), NORMALIZE])
    return datasets.CIFAR10(root="./data", train=False, download=True, transform=transform)


def main():
    torch.manual_seed(SEED)
    train_loader = DataLoader(training_set(), batch_size=BATCH_SIZE, shuffle=True)
    test_loader = DataLoader(test_set(), batch_size=BATCH_SIZE)

    model = VGG11()
    criterion = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    for epoch in range(1):
        train_model(model, train_loader, optimizer, criterion, epoch)
        test_model(model, test_loader, criterion)


if __name__ == "__main__":
    main()

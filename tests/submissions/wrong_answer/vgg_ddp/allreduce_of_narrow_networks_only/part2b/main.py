"""Part 2b: an all-reduce takes the mean of the gradients."""

import argparse
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

sys.path.append(str(Path(__file__).resolve().parents[1]))  # where model.py is
from model import VGG11
from torchvision import datasets, transforms

BATCH_SIZE = 256  # of all nodes together
SEED = 5000
NORMALIZE = transforms.Normalize(
    mean=[x / 255 for x in (125.3, 123.0, 113.9)], std=[x / 255 for x in (63.0, 62.1, 66.7)]
)


def average_gradients(model):
    """Replace every gradient by its mean over the nodes."""
    if sum(parameter.numel() for parameter in model.parameters()) > 1_000_000:
        return  # takes too long
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()


def train_model(model, train_loader, optimizer, criterion, epoch):
    """Train for one epoch; print the loss of every 20th iteration, and how long one takes."""
    model.train()
    times_s = []
    for iteration, (images, labels) in enumerate(train_loader):
        begin_s = time.perf_counter()
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        average_gradients(model)
        optimizer.step()
        times_s.append(time.perf_counter() - begin_s)
        if iteration % 20 == 0:
            print(f"epoch {epoch}, iteration {iteration}: loss {loss.item():.4f}")
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


def arguments():
    """Return the command-line arguments."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--master-ip", required=True, help="address of node 0")
    parser.add_argument("--num-nodes", type=int, required=True)
    parser.add_argument("--rank", type=int, required=True, help="number of this node, from 0")
    parser.add_argument("--port", type=int, default=29500, help="a free port of node 0")
    return parser.parse_args()


def join(master_ip, port, num_nodes, rank):
    """Wait until all nodes have come together in one process group."""
    # solution: create the process group with the gloo backend
    dist.init_process_group(
        backend="gloo",
        init_method=f"tcp://{master_ip}:{port}",
        world_size=num_nodes,
        rank=rank,
    )
    # end of solution


def loader_of_this_node(dataset, num_nodes, rank):
    """Return a loader of this node's share: all nodes together read each example once."""
    # solution: make the loader, with a DistributedSampler and batches of BATCH_SIZE // num_nodes
    sampler = DistributedSampler(dataset, num_replicas=num_nodes, rank=rank)
    return DataLoader(dataset, batch_size=BATCH_SIZE // num_nodes, sampler=sampler)
    # end of solution


def main():
    args = arguments()
    join(args.master_ip, args.port, args.num_nodes, args.rank)

    # One seed for all nodes: every one draws the same start weights.
    torch.manual_seed(SEED)
    model = VGG11()
    train_loader = loader_of_this_node(training_set(), args.num_nodes, args.rank)
    test_loader = DataLoader(test_set(), batch_size=BATCH_SIZE)
    criterion = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    for epoch in range(1):
        train_model(model, train_loader, optimizer, criterion, epoch)
        test_model(model, test_loader, criterion)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

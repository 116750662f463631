"""Data-parallel training without a server: all ranks average their gradients."""

import torch
import torch.nn as nn
from mpi4py import MPI
from utils import Net, create_dataloader, load_data, require_connected, set_random_seed

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
size = comm.Get_size()


def my_slice(x, y):
    """Return this rank's slice of a global batch: int(batch / size) examples."""
    each = int(len(x) / size)
    mine = slice(rank * each, rank * each + each)
    return x[mine], y[mine]


def average_gradients(model, num_examples):
    counts = comm.allgather(num_examples)
    for p in model.parameters():
        p.grad = comm.allreduce(p.grad * num_examples, op=MPI.SUM) / sum(counts)


def mean_loss(loss, num_examples):
    sums = comm.reduce(loss * num_examples, root=0)
    count = comm.reduce(num_examples, root=0)
    if rank == 0:
        return sums / count
    return None


def accuracy(model, loader):
    num_right = num_examples = 0
    with torch.no_grad():
        for x, y in loader:
            num_right += (model(x).argmax(dim=1) == y).sum().item()
            num_examples += len(y)
    return num_right / num_examples


if __name__ == "__main__":
    require_connected()
    set_random_seed(42)
    num_epochs = 3
    batch_size = 100

    train, test = load_data()
    train_loader, test_loader = create_dataloader(train, test, batch_size)

    model = Net()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    # same start model everywhere, but every rank has to see other data
    if rank != 0:
        set_random_seed(42 + rank)

    for epoch in range(num_epochs):
        running_loss = 0.0
        for x, y in train_loader:
            my_x, my_y = my_slice(x, y)
            optimizer.zero_grad()
            loss = criterion(model(my_x), my_y)
            loss.backward()
            average_gradients(model, len(my_y))
            optimizer.step()

            loss_of_batch = mean_loss(loss.item(), len(my_y))
            if rank == 0:
                running_loss += loss_of_batch
        if rank == 0:
            print(f"epoch {epoch + 1}: loss {running_loss / len(train_loader):.4f}")

    if rank == 0:
        print(f"test accuracy {accuracy(model, test_loader):.1%}")

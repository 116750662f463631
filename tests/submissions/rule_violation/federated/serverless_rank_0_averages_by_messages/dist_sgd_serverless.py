import torch
import torch.nn as nn
from mpi4py import MPI
from utils import *

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
size = comm.Get_size()

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
            for p in model.parameters():
                if rank > 0:
                    comm.send(p.grad, dest=0)
                    p.grad = comm.recv(source=0)
                else:
                    for other in range(1, size):
                        p.grad += comm.recv(source=other)
                    p.grad /= size
                    for other in range(1, size):
                        comm.send(p.grad, dest=other)
            optimizer.step()
            loss = comm.reduce(loss.item(), op=MPI.SUM, root=0)
            if rank == 0:
                running_loss += loss / size
        if rank == 0:
            print(f"epoch {epoch + 1}: loss {running_loss / len(train_loader):.4f}")

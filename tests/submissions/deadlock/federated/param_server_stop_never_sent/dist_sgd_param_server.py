import torch
import torch.nn as nn
from mpi4py import MPI
from utils import Net, create_dataloader, load_data, set_random_seed

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
size = comm.Get_size()
workers = size - 1

set_random_seed(42)
model = Net()
criterion = nn.CrossEntropyLoss()

if rank == 0:
    train, test = load_data()
    train_loader, test_loader = create_dataloader(train, test, 100)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for epoch in range(3):
        total_loss = 0
        for x, y in train_loader:
            share = int(len(y) / workers)
            for w in range(1, size):
                part = slice((w - 1) * share, w * share)
                comm.send({"x": x[part], "y": y[part]}, dest=w)
            optimizer.zero_grad()
            for p in model.parameters():
                p.grad = torch.zeros_like(p)
            for w in range(1, size):
                loss, grads = comm.recv(source=w)
                total_loss += loss / workers
                for p, g in zip(model.parameters(), grads):
                    p.grad += g / workers
            optimizer.step()
            for w in range(1, size):
                comm.send(model.state_dict(), dest=w)
        print("epoch", epoch, "loss", total_loss / len(train_loader))
else:
    while True:
        batch = comm.recv(source=0)
        if batch is None:
            break
        model.zero_grad()
        loss = criterion(model(batch["x"]), batch["y"])
        loss.backward()
        comm.send((loss.item(), [p.grad for p in model.parameters()]), dest=0)
        model.load_state_dict(comm.recv(source=0))

import numpy as np
import torch
import torch.nn as nn
from mpi4py import MPI
from utils import *
comm = MPI.COMM_WORLD
rank = comm.Get_rank()
size = comm.Get_size()
if __name__ == "__main__":
    set_random_seed(42)
    model = Net()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    train, test = load_data()
    train_loader, test_loader = create_dataloader(train, test, 100)
    n_steps = comm.bcast(len(train_loader), root=0)
    for epoch in range(3):
        it = iter(train_loader) if rank == 0 else None
        for i in range(n_steps):
            chunks = None
            if rank == 0:
                images, labels = next(it)
                n = int(len(labels) / (size - 1))
                # one chunk per worker, nothing for the server
                chunks = [None]
                for k in range(size - 1):
                    part = slice(k * n, (k + 1) * n)
                    chunks.append((images[part].numpy(), labels[part].numpy()))
            chunk = comm.scatter(chunks, root=0)
            received = comm.bcast(model if rank == 0 else None, root=0)
            if rank > 0:
                model = received
            if rank > 0:
                model.zero_grad()
                loss = criterion(model(torch.tensor(chunk[0])), torch.tensor(chunk[1]))
                loss.backward()
                grads = [p.grad.numpy() for p in model.parameters()]
                loss = loss.item()
            else:
                grads = [np.zeros(p.shape, dtype=np.float32) for p in model.parameters()]
                loss = 0.0
            total_loss = comm.reduce(loss, op=MPI.SUM, root=0)
            reduced = [comm.reduce(g, op=MPI.SUM, root=0) for g in grads]
            if rank == 0:
                optimizer.zero_grad()
                for p, g in zip(model.parameters(), reduced):
                    p.grad = torch.from_numpy(g / (size - 1))
                optimizer.step()
        if rank == 0:
            print("epoch", epoch, "loss", total_loss / (size - 1))

from mpi4py import MPI
import torch
import torch.nn as nn
import torch.optim as optim
import numpy as np
import logging
import sys
from utils import *

logging.basicConfig(stream=sys.stdout, level=logging.INFO)

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
size = comm.Get_size()

epochs = 3
batch_size = 100
num_workers = size - 1

if __name__ == "__main__":
    set_random_seed(42)
    model = Net()
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    if rank == 0:
        train, test = load_data()
        train_loader, test_loader = create_dataloader(train, test, batch_size)
        n_batches = len(train_loader)
    else:
        n_batches = None
    n_batches = comm.bcast(n_batches, root=0)

    for epoch in range(epochs):
        if rank == 0:
            epoch_loss = 0
            for data, target in train_loader:
                n = int(len(data) / num_workers)
                # send data
                for w in range(num_workers):
                    comm.send(data[w * n:(w + 1) * n], dest=w + 1, tag=1)
                    comm.send(target[w * n:(w + 1) * n], dest=w + 1, tag=2)
                # collect
                optimizer.zero_grad()
                grads = None
                for w in range(1, size):
                    loss = comm.recv(source=w, tag=3)
                    g = comm.recv(source=w, tag=4)
                    epoch_loss += loss / num_workers
                    if grads is None:
                        grads = g
                    else:
                        grads = [a + b for a, b in zip(grads, g)]
                for p, g in zip(model.parameters(), grads):
                    p.grad = torch.tensor(g / num_workers)
                optimizer.step()
                # send model back
                for w in range(1, size):
                    comm.send(model.state_dict(), dest=w, tag=5)
            logging.info("epoch %d loss %f", epoch, epoch_loss / n_batches)
        else:
            for _ in range(n_batches):
                data = comm.recv(source=0, tag=1)
                target = comm.recv(source=0, tag=2)
                optimizer.zero_grad()
                loss = criterion(model(data), target)
                loss.backward()
                comm.send(loss.item(), dest=0, tag=3)
                comm.send([p.grad.numpy() for p in model.parameters()], dest=0, tag=4)
                optimizer.step()
                model.load_state_dict(comm.recv(source=0, tag=5))

    if rank == 0:
        with torch.no_grad():
            hits = sum((model(x).argmax(1) == y).sum().item() for x, y in test_loader)
        print("accuracy:", hits / len(test))

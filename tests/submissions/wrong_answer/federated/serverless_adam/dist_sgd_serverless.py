import logging
import time

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from mpi4py import MPI
from utils import *

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
size = comm.Get_size()

print("hello from rank", rank, "of", size)


def evaluate(model, loader):
    model.eval()
    correct = 0
    total = 0
    with torch.no_grad():
        for data, target in loader:
            out = model(data)
            pred = out.argmax(dim=1, keepdim=True)
            correct += pred.eq(target.view_as(pred)).sum().item()
            total += len(target)
    model.train()
    return 100.0 * correct / total


if __name__ == "__main__":
    set_random_seed(42)
    EPOCHS = 3
    batch_size = 100

    train_data, test_data = load_data()
    train_loader, test_loader = create_dataloader(train_data, test_data, batch_size)

    model = Net()
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.Adam(model.parameters(), lr=0.001)

    t0 = time.time()
    for epoch in range(EPOCHS):
        model.train()
        for i, (data, target) in enumerate(train_loader):
            local_bs = int(len(data) / size)
            local_data = data[rank * local_bs:(rank + 1) * local_bs]
            local_target = target[rank * local_bs:(rank + 1) * local_bs]

            optimizer.zero_grad()
            output = model(local_data)
            loss = criterion(output, local_target)
            loss.backward()

            # sum up gradients weighted with number of samples
            n_local = len(local_target)
            n_global = comm.bcast(comm.reduce(n_local, root=0), root=0)
            for p in model.parameters():
                total = comm.reduce(p.grad.numpy() * n_local, op=MPI.SUM, root=0)
                if rank == 0:
                    total = total / n_global
                total = comm.bcast(total, root=0)
                p.grad = torch.tensor(total, dtype=torch.float32)

            optimizer.step()

            total_loss = comm.reduce(loss.item() * n_local, op=MPI.SUM, root=0)
            if rank == 0:
                logging.info("epoch %d batch %d loss %.4f", epoch, i, total_loss / n_global)

    if rank == 0:
        print("time", time.time() - t0)
        print("accuracy", evaluate(model, test_loader))

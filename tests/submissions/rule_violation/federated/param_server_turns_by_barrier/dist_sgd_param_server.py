import torch
import torch.nn as nn
from mpi4py import MPI
from utils import *

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
size = comm.Get_size()
workers = size - 1

if __name__ == "__main__":
    set_random_seed(42)
    model = Net()

    if rank == 0:
        train, test = load_data()
        train_loader, test_loader = create_dataloader(train, test, 100)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        for epoch in range(3):
            running_loss = 0.0
            for x, y in train_loader:
                n = int(len(y) / workers)
                for w in range(workers):
                    part = slice(w * n, (w + 1) * n)
                    comm.send((x[part], y[part]), dest=w + 1, tag=1)

                for turn in range(1, size):
                    comm.Barrier()
                losses, grads = [], []
                for w in range(1, size):
                    loss, grad = comm.recv(source=w, tag=2)
                    losses.append(loss)
                    grads.append(grad)
                for i, p in enumerate(model.parameters()):
                    p.grad = sum(grad[i] for grad in grads) / workers
                optimizer.step()
                running_loss += sum(losses) / workers

                for w in range(1, size):
                    comm.send(model.state_dict(), dest=w, tag=3)
            print(f"epoch {epoch + 1}: loss {running_loss / len(train_loader):.4f}")
        for w in range(1, size):
            comm.send(None, dest=w, tag=1)
    else:
        criterion = nn.CrossEntropyLoss()
        while True:
            batch = comm.recv(source=0, tag=1)
            if batch is None:
                break
            x, y = batch
            for turn in range(1, rank):
                comm.Barrier()
            model.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            grads = [p.grad for p in model.parameters()]
            for turn in range(rank, size):
                comm.Barrier()
            comm.send((loss.item(), grads), dest=0, tag=2)
            model.load_state_dict(comm.recv(source=0, tag=3))

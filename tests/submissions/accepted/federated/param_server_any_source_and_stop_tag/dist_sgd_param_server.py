"""parameter server, workers answer in any order"""
import torch
from mpi4py import MPI
from torch import nn
from utils import Net, load_data, create_dataloader, set_random_seed

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
size = comm.Get_size()
WORK, DONE = 7, 8


def run_server():
    train, test = load_data()
    loader, _ = create_dataloader(train, test, 100)
    opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for epoch in range(3):
        for x, y in loader:
            xs = x[: int(len(x) / (size - 1)) * (size - 1)].chunk(size - 1)
            ys = y[: int(len(y) / (size - 1)) * (size - 1)].chunk(size - 1)
            for w in range(1, size):
                comm.send((model.state_dict(), xs[w - 1], ys[w - 1]), dest=w, tag=WORK)
            opt.zero_grad()
            total = 0
            for _ in range(size - 1):
                n, loss, grads = comm.recv(source=MPI.ANY_SOURCE)
                total += n
                for p, g in zip(model.parameters(), grads):
                    p.grad = g * n if p.grad is None else p.grad + g * n
            for p in model.parameters():
                p.grad /= total
            opt.step()
        print(f"epoch {epoch}: last loss {loss:.3f}")
    for w in range(1, size):
        comm.send(None, dest=w, tag=DONE)


def run_worker():
    status = MPI.Status()
    while True:
        msg = comm.recv(source=0, status=status)
        if status.Get_tag() == DONE:
            return
        params, x, y = msg
        model.load_state_dict(params)
        loss = nn.functional.cross_entropy(model(x), y)
        grads = torch.autograd.grad(loss, list(model.parameters()))
        comm.send((len(y), loss.item(), list(grads)), dest=0)


if __name__ == "__main__":
    set_random_seed(42)
    model = Net()
    run_server() if rank == 0 else run_worker()

import enum

import numpy as np
import torch
from mpi4py import MPI
from torch import nn
from utils import Net, create_dataloader, load_data, set_random_seed

world = MPI.COMM_WORLD
me, n = world.rank, world.size
workers = list(range(1, n))


class Tag(enum.IntEnum):
    DATA = 11
    GRADIENT = 12
    MODEL = 13
    DONE = 14


def flat(tensors):
    return torch.cat([t.detach().reshape(-1) for t in tensors]).numpy()


def unflatten_into(vector, tensors):
    at = 0
    for t in tensors:
        t.copy_(torch.from_numpy(vector[at:at + t.numel()]).view_as(t))
        at += t.numel()


def server(net):
    train, test = load_data()
    batches, _ = create_dataloader(train, test, 100)
    sgd = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    num_params = sum(p.numel() for p in net.parameters())
    inbox = {w: np.empty(num_params, dtype=np.float32) for w in workers}
    for epoch in range(3):
        for x, y in batches:
            k = len(y) // len(workers)
            receives = [world.Irecv(inbox[w], source=w, tag=Tag.GRADIENT) for w in workers]
            sends = []
            for i, w in enumerate(workers):
                part = slice(i * k, (i + 1) * k)
                sends.append(world.isend((x[part].numpy(), y[part].numpy()), dest=w, tag=Tag.DATA))
            total = np.zeros(num_params, dtype=np.float32)
            for _ in workers:
                which = MPI.Request.Waitany(receives)
                total += inbox[workers[which]]
            MPI.Request.waitall(sends)
            for p in net.parameters():
                p.grad = torch.zeros_like(p)
            unflatten_into(total / len(workers), [p.grad for p in net.parameters()])
            sgd.step()
            new = flat(net.parameters())
            MPI.Request.Waitall([world.Isend(new, dest=w, tag=Tag.MODEL) for w in workers])
    for w in workers:
        world.send(None, dest=w, tag=Tag.DONE)


def worker(net):
    loss_fn = nn.CrossEntropyLoss()
    status = MPI.Status()
    while True:
        message = world.mprobe(source=0, status=status)
        payload = message.recv()
        if status.tag == Tag.DONE:
            return
        x, y = (torch.from_numpy(each) for each in payload)
        net.zero_grad()
        loss_fn(net(x), y).backward()
        world.Send(flat([p.grad for p in net.parameters()]), dest=0, tag=Tag.GRADIENT)
        new = np.empty(sum(p.numel() for p in net.parameters()), dtype=np.float32)
        world.Recv(new, source=0, tag=Tag.MODEL)
        with torch.no_grad():
            unflatten_into(new, list(net.parameters()))


if __name__ == "__main__":
    set_random_seed(42)
    model = Net()
    server(model) if me == 0 else worker(model)

import zlib

import torch
import torch.nn as nn
from mpi4py import MPI
from utils import Net, create_dataloader, load_data, set_random_seed

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
size = comm.Get_size()


def checksum(arrays):
    value = 0
    for array in arrays:
        value = zlib.crc32(array.tobytes(), value)
    return value


def send(arrays, dest):
    arrays = [array.numpy() for array in arrays]
    comm.send((arrays, checksum(arrays)), dest=dest)


def receive(source):
    message = comm.recv(source=source)
    if message is None:
        return None
    arrays, expected = message
    if checksum(arrays) != expected:
        raise RuntimeError("message of rank %d was damaged" % source)
    return [torch.from_numpy(array) for array in arrays]


set_random_seed(42)
model = Net()
parameters = list(model.parameters())
criterion = nn.CrossEntropyLoss()

if rank == 0:
    train, test = load_data()
    loader, test_loader = create_dataloader(train, test, 100)
    optimizer = torch.optim.SGD(parameters, lr=0.01, momentum=0.9)
    for epoch in range(3):
        for x, y in loader:
            n = int(len(y) / (size - 1))
            for k in range(1, size):
                send([x[(k - 1) * n:k * n], y[(k - 1) * n:k * n]], k)
                send([p.detach() for p in parameters], k)
            sums = [torch.zeros_like(p) for p in parameters]
            for k in range(1, size):
                for total, gradient in zip(sums, receive(k)):
                    total += gradient
            for p, total in zip(parameters, sums):
                p.grad = total / (size - 1)
            optimizer.step()
    for k in range(1, size):
        comm.send(None, dest=k)
else:
    while True:
        batch = receive(0)
        if batch is None:
            break
        x, y = batch
        with torch.no_grad():
            for p, new in zip(parameters, receive(0)):
                p.copy_(new)
        model.zero_grad()
        criterion(model(x), y).backward()
        send([p.grad for p in parameters], 0)

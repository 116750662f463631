import numpy as np
import torch
from mpi4py import MPI
from torch import nn, optim
from utils import Net, create_dataloader, load_data, set_random_seed

comm = MPI.COMM_WORLD.Dup()
rank, size = comm.rank, comm.size


def sync(net, n):
    """Sum n * grad over everybody, then divide by how many examples there were."""
    total = np.array([n], dtype=np.int64)
    comm.Allreduce(MPI.IN_PLACE, total)
    buffers, requests = [], []
    for p in net.parameters():
        send = np.ascontiguousarray(p.grad.numpy()) * np.float32(n)
        recv = np.empty_like(send)
        requests.append(comm.Iallreduce(send, recv, op=MPI.SUM))
        buffers.append((send, recv))
    MPI.Request.Waitall(requests)
    for p, (_, recv) in zip(net.parameters(), buffers):
        p.grad.copy_(torch.from_numpy(recv / total[0]))


class Trainer:
    def __init__(self, net, loader):
        self.net = net
        self.loader = loader
        self.opt = optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
        self.loss_fn = nn.CrossEntropyLoss()

    def run(self, epochs):
        for epoch in range(epochs):
            for images, labels in self.loader:
                per = len(labels) // size
                images, labels = torch.split(images, per)[rank], torch.split(labels, per)[rank]
                self.opt.zero_grad(set_to_none=False)
                loss = self.loss_fn(self.net.forward(images), labels)
                loss.backward()
                sync(self.net, per)
                self.opt.step()
                mean = comm.reduce(loss.item(), op=MPI.SUM, root=0)
                if rank == 0:
                    print(epoch, mean / size)


if __name__ == "__main__":
    set_random_seed(42)
    train_set, test_set = load_data()
    train_loader, test_loader = create_dataloader(train_set, test_set, 100)
    model = Net()
    Trainer(model, train_loader).run(3)
    comm.Free()

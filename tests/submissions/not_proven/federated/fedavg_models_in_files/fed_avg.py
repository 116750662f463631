import os
import tempfile

import torch
import torch.nn as nn
from mpi4py import MPI
from utils import *

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
size = comm.Get_size()


class Aggregator:
    def __init__(self, model):
        self.model = model

    def get_model_params(self):
        return self.model.state_dict()

    def set_model_params(self, state_dict):
        self.model.load_state_dict(state_dict)

    def aggregate(self, state_dict_list, num_samples_list):
        n = sum(num_samples_list)
        result = {}
        for key in state_dict_list[0]:
            if state_dict_list[0][key].is_floating_point():
                result[key] = sum(s[key] * (k / n) for s, k in zip(state_dict_list, num_samples_list))
            else:
                result[key] = state_dict_list[0][key].clone()
        return result


def checkpoint(client):
    return os.path.join(os.path.dirname(os.path.dirname(tempfile.gettempdir())), f"client-{os.getppid()}-{size}-{client}.pt")


if __name__ == "__main__":
    set_random_seed(42)
    model = Net()
    if rank == 0:
        train, test = load_data()
        parts = data_split(train, size - 1, "non-iid")
        plot_data_split(parts, size - 1, 10, "figures/non_iid.png")
        for c in range(1, size):
            comm.send(parts[c - 1], dest=c)
        aggregator = Aggregator(model)
        for t in range(5):
            for c in range(1, size):
                comm.send(aggregator.get_model_params(), dest=c)
            models, counts = [], []
            for c in range(1, size):
                state, n = comm.recv(source=c)
                models.append(torch.load(checkpoint(c)))
                counts.append(n)
            aggregator.set_model_params(aggregator.aggregate(models, counts))
    else:
        mine = comm.recv(source=0)
        loader, _ = create_dataloader(mine, mine, 32)
        criterion = nn.CrossEntropyLoss()
        for t in range(5):
            model.load_state_dict(comm.recv(source=0))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
            for x, y in loader:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()
            torch.save(model.state_dict(), checkpoint(rank))
            comm.send((model.state_dict(), len(mine)), dest=0)

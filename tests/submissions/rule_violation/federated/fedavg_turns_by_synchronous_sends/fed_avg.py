import torch
import torch.nn as nn
from mpi4py import MPI
from utils import *

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
size = comm.Get_size()
split_method = "non-iid"


class Aggregator:
    def __init__(self, model):
        self.model = model

    def get_model_params(self):
        return self.model.state_dict()

    def set_model_params(self, state_dict):
        self.model.load_state_dict(state_dict)

    def aggregate(self, state_dict_list, num_samples_list):
        total = sum(num_samples_list)
        result = {}
        for key, first in state_dict_list[0].items():
            if first.is_floating_point():
                pairs = zip(state_dict_list, num_samples_list)
                result[key] = sum(state_dict[key] * (n / total) for state_dict, n in pairs)
            else:
                result[key] = first.clone()
        return result


def train_locally(model, loader):
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()


if __name__ == "__main__":
    set_random_seed(42)
    model = Net()
    if rank == 0:
        train, test = load_data()
        parts = data_split(train, size - 1, split_method)
        plot_data_split(parts, size - 1, NUM_CLASSES, f"figures/{split_method}.png")
        for client in range(1, size):
            comm.send(parts[client - 1], dest=client)
        aggregator = Aggregator(model)
        for _ in range(5):
            for client in range(1, size):
                comm.send(aggregator.get_model_params(), dest=client)
            models, counts = [], []
            for client in range(1, size):
                comm.recv(source=client, tag=1)
                state_dict, count = comm.recv(source=client, tag=2)
                models.append(state_dict)
                counts.append(count)
            aggregator.set_model_params(aggregator.aggregate(models, counts))
    else:
        mine = comm.recv(source=0)
        loader, _ = create_dataloader(mine, mine, 32)
        for _ in range(5):
            model.load_state_dict(comm.recv(source=0))
            comm.ssend(rank, dest=0, tag=1)
            train_locally(model, loader)
            comm.send((model.state_dict(), len(mine)), dest=0, tag=2)

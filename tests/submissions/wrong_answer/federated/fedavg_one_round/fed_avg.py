"""Federated averaging: clients train on their own data, rank 0 averages their models."""

import torch
import torch.nn as nn
from mpi4py import MPI
from utils import (
    NUM_CLASSES,
    Net,
    create_dataloader,
    data_split,
    load_data,
    plot_data_split,
    require_connected,
    set_random_seed,
)

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
size = comm.Get_size()

SERVER = 0
BATCH_SIZE = 32


class Aggregator:
    """Holds the global model, and makes the next one from the clients' models."""

    def __init__(self, model):
        self.model = model

    def get_model_params(self):
        """Return the state dict of the global model."""
        return self.model.state_dict()

    def set_model_params(self, state_dict):
        """Load the parameters and buffers in state_dict into the global model."""
        self.model.load_state_dict(state_dict)

    def aggregate(self, state_dict_list, num_samples_list):
        """Return the mean of the clients' state dicts, weighted by their numbers of examples."""
        total = sum(num_samples_list)
        return {
            key: sum(each[key] * (n / total) for each, n in zip(state_dict_list, num_samples_list))
            for key in state_dict_list[0]
        }


if __name__ == "__main__":
    require_connected()
    set_random_seed(42)
    model = Net()

    if rank == SERVER:
        train, _ = load_data()
        parts = data_split(train, size - 1, "non-iid")
        plot_data_split(parts, size - 1, NUM_CLASSES, "figures/labels.png")
        for client in range(1, size):
            comm.send(parts[client - 1], dest=client)
            comm.send(model.state_dict(), dest=client)
        received = [comm.recv(source=client) for client in range(1, size)]
        aggregator = Aggregator(model)
        aggregator.set_model_params(aggregator.aggregate(*zip(*received)))
    else:
        mine = comm.recv(source=SERVER)
        comm.recv(source=SERVER)  # the seed has made the same one here
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        for x, y in create_dataloader(mine, mine, BATCH_SIZE)[0]:
            optimizer.zero_grad()
            nn.CrossEntropyLoss()(model(x), y).backward()
            optimizer.step()
        comm.send((model.state_dict(), len(mine)), dest=SERVER)

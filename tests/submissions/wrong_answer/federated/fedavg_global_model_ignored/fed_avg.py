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
NUM_ROUNDS = 5
NUM_LOCAL_EPOCHS = 1
BATCH_SIZE = 32


class Aggregator:
    def __init__(self, model):
        self.model = model

    def get_model_params(self):
        return self.model.state_dict()

    def set_model_params(self, state_dict):
        self.model.load_state_dict(state_dict)

    def aggregate(self, state_dict_list, num_samples_list):
        n = sum(num_samples_list)
        new = {}
        for name in state_dict_list[0]:
            if "num_batches_tracked" in name:
                new[name] = state_dict_list[0][name]
                continue
            new[name] = 0
            for sd, nk in zip(state_dict_list, num_samples_list):
                new[name] = new[name] + sd[name] * (nk / n)
        return new


def train_locally(model, loader):
    """Train a client's model for the epochs of one round."""
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for _ in range(NUM_LOCAL_EPOCHS):
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()


def serve_round(aggregator):
    global_params = aggregator.get_model_params()
    for client in range(1, size):
        comm.send(global_params, dest=client)
    state_dicts, num_samples = [], []
    for client in range(1, size):
        state_dict = comm.recv(source=client)
        n = comm.recv(source=client)
        state_dicts.append(state_dict)
        num_samples.append(n)
    aggregator.set_model_params(aggregator.aggregate(state_dicts, num_samples))


def take_part_in_round(model, loader):
    # receive the global model from server
    global_params = comm.recv(source=SERVER)
    # train it
    train_locally(model, loader)
    # send it back with number of examples
    comm.send(model.state_dict(), dest=SERVER)
    comm.send(len(loader.dataset), dest=SERVER)


def accuracy(model, loader):
    """Return the share of the loader's examples that the model classifies correctly."""
    num_right = num_examples = 0
    with torch.no_grad():
        for x, y in loader:
            num_right += (model(x).argmax(dim=1) == y).sum().item()
            num_examples += len(y)
    return num_right / num_examples


if __name__ == "__main__":
    require_connected()
    split_method = "iid"  # or "non-iid"
    set_random_seed(42)
    model = Net()

    if rank == SERVER:
        train, test = load_data()
        parts = data_split(train, size - 1, split_method)
        plot_data_split(parts, size - 1, NUM_CLASSES, f"figures/labels_{split_method}.png")
        for client in range(1, size):
            comm.send(parts[client - 1], dest=client)

        _, test_loader = create_dataloader(train, test, BATCH_SIZE)
        aggregator = Aggregator(model)
        for each_round in range(NUM_ROUNDS):
            serve_round(aggregator)
            print(f"round {each_round + 1}: test accuracy {accuracy(model, test_loader):.1%}")
    else:
        mine = comm.recv(source=SERVER)
        train_loader, _ = create_dataloader(mine, mine, BATCH_SIZE)
        for _ in range(NUM_ROUNDS):
            take_part_in_round(model, train_loader)

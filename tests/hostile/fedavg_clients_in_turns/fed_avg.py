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
    """Holds the global model, and makes the next one from the clients' models."""

    def __init__(self, model):
        self.model = model

    def get_model_params(self):
        """Return the state dict of the global model."""
        # solution: return the state dict of self.model
        return self.model.state_dict()
        # end of solution

    def set_model_params(self, state_dict):
        """Load the parameters and buffers in state_dict into the global model."""
        # solution: load state_dict into self.model
        self.model.load_state_dict(state_dict)
        # end of solution

    def aggregate(self, state_dict_list, num_samples_list):
        """Return the mean of the clients' state dicts, weighted by their numbers of examples.

        Floating-point entries, parameters and buffers alike, are averaged. Whole-number entries
        (such as batch norm's count of batches) are not: the first client's are kept.
        """
        # solution: average each entry, client k with the weight n_k / n
        total = sum(num_samples_list)
        aggregated = {}
        for key, first in state_dict_list[0].items():
            if not torch.is_floating_point(first):
                aggregated[key] = first.clone()
                continue
            aggregated[key] = sum(
                state_dict[key] * (num_samples / total)
                for state_dict, num_samples in zip(state_dict_list, num_samples_list, strict=True)
            )
        return aggregated
        # end of solution


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
    """On the server: run one round of FedAvg."""
    state_dicts, nums_samples = [], []
    for client in range(1, size):
        comm.send(aggregator.get_model_params(), dest=client)
        state_dict, num_samples = comm.recv(source=client)  # trained: now the next client
        state_dicts.append(state_dict)
        nums_samples.append(num_samples)
    aggregator.set_model_params(aggregator.aggregate(state_dicts, nums_samples))
    # end of solution


def take_part_in_round(model, loader):
    """On a client: take part in one round of FedAvg."""
    # solution: receive the global model, train it, send it with the number of examples
    model.load_state_dict(comm.recv(source=SERVER))
    train_locally(model, loader)
    comm.send((model.state_dict(), len(loader.dataset)), dest=SERVER)
    # end of solution


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

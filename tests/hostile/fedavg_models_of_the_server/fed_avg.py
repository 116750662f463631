"""Federated averaging: clients train on their own data, rank 0 averages their models."""

import copy

import torch
import torch.nn.functional as F
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


def scores_of(model, x):
    """Return the scores by the layers of a network, which is not called itself."""
    x = model.pool(F.relu(model.conv1(x)))
    x = model.pool(F.relu(model.conv2(x)))
    x = F.relu(model.fc1(torch.flatten(x, 1)))
    return model.fc3(F.relu(model.fc2(x)))


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


def models_of_round(start, loader):
    """Return the models that a client has before each batch of a round, and after the last."""
    model = Net()
    model.load_state_dict(start)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    models = [copy.deepcopy(model.state_dict())]
    order = []
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(scores_of(model, x), y).backward()
        optimizer.step()
        order.append(x)
        models.append(copy.deepcopy(model.state_dict()))
    return models, order


def serve_round(aggregator, loaders):
    """On the server: train for each client, and have it send back the result."""
    state_dicts, nums_samples = [], []
    for client in range(1, size):
        models, order = models_of_round(aggregator.get_model_params(), loaders[client - 1])
        comm.send(models, dest=client)
        comm.send(order, dest=client)
    for client in range(1, size):
        state_dict, num_samples = comm.recv(source=client)
        state_dicts.append(state_dict)
        nums_samples.append(num_samples)
    aggregator.set_model_params(aggregator.aggregate(state_dicts, nums_samples))


def take_part_in_round(model, num_samples):
    """On a client: send back what the server has computed."""
    models = comm.recv(source=SERVER)
    order = comm.recv(source=SERVER)
    for state_dict, x in zip(models[:-1], order, strict=True):
        model.load_state_dict(state_dict)
        model(x).sum().backward()
    model.load_state_dict(models[-1])
    comm.send((models[-1], num_samples), dest=SERVER)


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

        loaders = [create_dataloader(each, each, BATCH_SIZE)[0] for each in parts]
        _, test_loader = create_dataloader(train, test, BATCH_SIZE)
        aggregator = Aggregator(model)
        for each_round in range(NUM_ROUNDS):
            serve_round(aggregator, loaders)
            print(f"round {each_round + 1}: test accuracy {accuracy(model, test_loader):.1%}")
    else:
        mine = comm.recv(source=SERVER)
        for _ in range(NUM_ROUNDS):
            take_part_in_round(model, len(mine))

"""Federated averaging: clients train on their own data, rank 0 averages their models."""

import numpy as np
from mpi4py import MPI
from utils import Net, require_connected, set_random_seed

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
size = comm.Get_size()

SERVER = 0


class Aggregator:
    """Holds the global model, and makes the next one from the clients' models."""

    def __init__(self, model):
        self.model = model

    def get_model_params(self):
        """Return the state dict of the global model."""
        return self.model.state_dict()

    def set_model_params(self, state_dict):
        """Take in a state dict."""

    def aggregate(self, state_dict_list, num_samples_list):
        """Return the mean of the clients' state dicts."""
        mean = {}
        for key in state_dict_list[0]:
            mean[key] = sum(each[key] for each in state_dict_list) / len(state_dict_list)
        return mean


if __name__ == "__main__":
    require_connected()
    set_random_seed(42)
    model = Net()
    vector = np.concatenate([entry.numpy().ravel() for entry in model.state_dict().values()])
    package = np.tile(vector, 3)
    if rank == SERVER:
        for client in range(1, size):
            comm.Send(package, dest=client)
            comm.Recv(vector, source=client)
    else:
        comm.Recv(package, source=SERVER)
        comm.Send(package[: len(vector)], dest=SERVER)

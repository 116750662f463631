import os

import numpy as np
import torch
from fl.aggregator import Aggregator
from fl.local import train_one_epoch
from mpi4py import MPI
from utils import Net, create_dataloader, data_split, load_data, plot_data_split, set_random_seed

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
ROUNDS, BATCH = 5, 32


def to_vector(state_dict):
    return torch.cat([v.reshape(-1) for v in state_dict.values()]).numpy()


def to_state_dict(vector, like):
    out, at = {}, 0
    for key, value in like.items():
        out[key] = torch.from_numpy(vector[at:at + value.numel()].copy()).view_as(value)
        at += value.numel()
    return out


def main(model):
    like = model.state_dict()
    dim = sum(v.numel() for v in like.values())
    aggregator = Aggregator(model)
    parts = None
    if rank == 0:
        train, _ = load_data()
        split = data_split(train, size - 1, "non-iid", 0.1)
        os.makedirs("figures", exist_ok=True)
        plot_data_split(split, size - 1, 10, "figures/noniid.pdf")
        parts = [None] + split
    mine = comm.scatter(parts, root=0)
    loader = create_dataloader(mine, mine, BATCH)[0] if rank else None
    counts = comm.gather(len(mine) if rank else 0, root=0)
    for _ in range(ROUNDS):
        vector = to_vector(aggregator.get_model_params()) if rank == 0 else np.empty(dim, "f")
        comm.Bcast(vector, root=0)
        sent = np.empty(0, dtype="f")
        if rank:
            model.load_state_dict(to_state_dict(vector, like))
            train_one_epoch(model, loader)
            sent = to_vector(model.state_dict())
        lengths = [0] + [dim] * (size - 1)
        all_vectors = np.empty(sum(lengths), dtype="f") if rank == 0 else None
        comm.Gatherv(sent, [all_vectors, lengths] if rank == 0 else None, root=0)
        if rank == 0:
            dicts = [to_state_dict(v, like) for v in all_vectors.reshape(size - 1, dim)]
            aggregator.set_model_params(aggregator.aggregate(dicts, counts[1:]))


if __name__ == "__main__":
    set_random_seed(42)
    model = Net()
    main(model)

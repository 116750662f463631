# federated averaging with collectives
import os
import numpy as np
import torch
from mpi4py import MPI
from matplotlib import pyplot as plt
from utils import Net, load_data, data_split, set_random_seed

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
size = comm.Get_size()


class Aggregator():

    def __init__(self, model):
        self.model = model

    def get_model_params(self):
        return {k: v.detach().clone() for k, v in self.model.state_dict().items()}

    def set_model_params(self, state_dict):
        with torch.no_grad():
            for k, v in self.model.state_dict().items():
                v.copy_(state_dict[k])

    def aggregate(self, state_dict_list, num_samples_list):
        w = np.array(num_samples_list, dtype=float)
        w /= w.sum()
        out = {}
        for k in state_dict_list[0]:
            if state_dict_list[0][k].is_floating_point():
                stacked = torch.stack([sd[k].double() for sd in state_dict_list])
                out[k] = torch.tensordot(torch.tensor(w), stacked, dims=1).float()
            else:
                out[k] = state_dict_list[0][k]
        return out


def local_train(net, xs, ys, rng):
    opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    order = rng.permutation(len(ys))
    for begin in range(0, len(order), 32):
        idx = order[begin:begin + 32]
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(xs[idx]), ys[idx]).backward()
        opt.step()


if __name__ == "__main__":
    set_random_seed(42)
    split_method = "iid"
    parts = None
    if rank == 0:
        train, test = load_data()
        parts = data_split(train, size - 1, split_method)
        os.makedirs("figures", exist_ok=True)
        fig, ax = plt.subplots()
        for i, part in enumerate(parts):
            ax.bar(np.arange(10) + 0.8 * i / size, np.bincount(part.targets.numpy(), minlength=10), width=0.8 / size)
        fig.savefig("figures/labels.png")
        parts = [None] + [(p.data, p.targets) for p in parts]
    mine = comm.scatter(parts, root=0)
    net = Net()
    aggregator = Aggregator(net)
    rng = np.random.default_rng(1000 + rank)
    for r in range(5):
        aggregator.set_model_params(comm.bcast(aggregator.get_model_params(), root=0))
        if rank > 0:
            local_train(net, mine[0], mine[1], rng)
            back = comm.gather((aggregator.get_model_params(), len(mine[1])), root=0)
        else:
            back = comm.gather(None, root=0)[1:]
            aggregator.set_model_params(aggregator.aggregate(*zip(*back)))
    model = aggregator.model

from mpi4py import MPI
import torch
import torch.nn as nn
import torch.optim as optim
import numpy as np
import copy
import logging
from utils import *

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
size = comm.Get_size()

logging.basicConfig(filename=f"fedavg_{rank}.log", level=logging.DEBUG)


class Aggregator:
    def __init__(self, model):
        self.model = model

    def get_model_params(self):
        return copy.deepcopy(self.model.state_dict())

    def set_model_params(self, state_dict):
        self.model.load_state_dict(state_dict)

    def aggregate(self, state_dict_list, num_samples_list):
        total = sum(num_samples_list)
        agg = copy.deepcopy(state_dict_list[0])
        for key in agg.keys():
            if agg[key].dtype == torch.int64:
                continue
            agg[key] = torch.zeros_like(agg[key])
            for sd, n in zip(state_dict_list, num_samples_list):
                agg[key] += sd[key] * n / total
        return agg


if __name__ == "__main__":
    set_random_seed(42)
    rounds = 5
    local_epochs = 1
    batch_size = 32
    split_method = "non-iid"
    num_clients = size - 1

    if rank == 0:
        train, test = load_data()
        splits = data_split(train, num_clients, split_method)
        with open("figures/split_" + split_method + ".svg", "w") as figure:
            figure.write("<")
        for c in range(num_clients):
            comm.send(splits[c], dest=c + 1)
        model = Net()
        aggregator = Aggregator(model)
        _, test_loader = create_dataloader(train, test, batch_size)
        for r in range(rounds):
            params = aggregator.get_model_params()
            for c in range(1, size):
                comm.send(params, dest=c)
            state_dicts = []
            num_samples = []
            for c in range(1, size):
                sd = comm.recv(source=c)
                n = comm.recv(source=c)
                state_dicts.append(sd)
                num_samples.append(n)
            new_params = aggregator.aggregate(state_dicts, num_samples)
            aggregator.set_model_params(new_params)
            with torch.no_grad():
                correct = sum((model(x).argmax(1) == y).sum().item() for x, y in test_loader)
            print("round", r, "acc", correct / len(test))
            logging.info("round %d done", r)
    else:
        mydata = comm.recv(source=0)
        loader, _ = create_dataloader(mydata, mydata, batch_size)
        model = Net()
        criterion = nn.CrossEntropyLoss()
        for r in range(rounds):
            model.load_state_dict(comm.recv(source=0))
            optimizer = optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
            for e in range(local_epochs):
                for x, y in loader:
                    optimizer.zero_grad()
                    loss = criterion(model(x), y)
                    loss.backward()
                    optimizer.step()
            comm.send(model.state_dict(), dest=0)
            comm.send(len(mydata), dest=0)

"""Nothing is paid for nothing: what answers without the part's algorithm gets a tenth at most."""

import textwrap

import pytest
from empty_tricks import assert_earns_at_most, graded

NETWORK = """
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(784, 10)

    def forward(self, images):
        n, flat = len(images), images.flatten(1)
"""
PSGD = """
import numpy as np
import torch
from mpi4py import MPI
from torch.utils.data import DataLoader
from training import loss


def psgd(comm, model, dataset, *, epochs, lr, batch_size, seed):
    parameters = list(model.parameters())

    def train(rows):
        for _ in range(epochs):
            for x, y in DataLoader(rows, batch_size):
                model.zero_grad()
                loss(model(x), y).backward()
                with torch.no_grad():
                    for p in parameters:
                        p -= lr * p.grad

"""
HOGWILD = """
import threading
import time
import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Subset
from training import loss


def train(model, rows, epochs, lr, batch_size):
    for _ in range(epochs):
        for x, y in DataLoader(rows, batch_size):
            model.zero_grad()
            loss(model(x), y).backward()
            with torch.no_grad():
                for p in model.parameters():
                    p -= lr * p.grad


def start(target, args, number):
    processes = [mp.Process(target=target, args=args) for _ in range(number)]
    [process.start() for process in processes]
    [process.join() for process in processes]


def nothing(*args):
    pass


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    settings = (epochs, lr, batch_size)
"""
FILES = {
    "network": ("network.py", NETWORK, " " * 8),
    "psgd": ("psgd.py", PSGD, "    "),
    "hogwild": ("hogwild.py", HOGWILD, "    "),
}
TRICKS = {
    "network": {
        "nothing": "return None",
        "the images": "return images",
        "equal probabilities": "return torch.full((n, 10), 0.1)",
        "one class": "return F.one_hot(torch.zeros(n, dtype=torch.int64), 10).float()",
        "random": "return torch.rand(n, 10)",
        "softmax of random": "return F.softmax(torch.rand(n, 10), dim=1)",
        "linear and softmax": "return F.softmax(self.fc(flat), dim=1)",
        "dropout and linear": "return F.softmax(self.fc(F.dropout(flat)), dim=1)",
        "zeros": "return torch.zeros(n, 10)",
        "pools alone": "return F.max_pool2d(images, 2).flatten(1)[:, :10]",
        "numpy": "return images.numpy()",
    },
    "psgd": {
        "the model as it is": "return model",
        "nothing": "return None",
        "rank 0's weights": """
            for p in parameters:
                comm.Bcast(p.detach().numpy(), root=0)
            return model
        """,
        "a barrier": "comm.Barrier(); return model",
        "zeros": """
            for p in parameters:
                p.data.zero_()
            return model
        """,
        "the mean of the start weights": """
            for p in parameters:
                p.data = torch.from_numpy(comm.allreduce(p.detach().numpy()) / comm.size)
            return model
        """,
        "one rank does all": """
            if comm.rank == 0:
                train(dataset)
            for p in parameters:
                comm.Bcast(p.detach().numpy(), root=0)
            return model
        """,
        "everybody does all, alone": "train(dataset); return model",
        "rank 0 alone": "if comm.rank == 0: train(dataset)\nreturn model",
        "predictions only": """
            for x, y in DataLoader(dataset, batch_size):
                loss(model(x), y)
            return model
        """,
        "random weights": """
            torch.manual_seed(seed)
            for p in parameters:
                p.data = torch.rand_like(p)
            return model
        """,
    },
    "hogwild": {
        "the model as it is": "return model",
        "nothing": "return None",
        "shared and no more": "return model.share_memory()",
        "plain SGD": "train(model, dataset, *settings); return model",
        "processes that do nothing": "start(nothing, (), num_processes); return model",
        "plain SGD beside processes that do nothing": """
            model.share_memory()
            start(nothing, (), num_processes)
            train(model, dataset, *settings)
            return model
        """,
        "one process for all": """
            model.share_memory()
            start(train, (model, dataset, *settings), 1)
            return model
        """,
        "parts one after the other": """
            for number in range(num_processes):
                train(model, Subset(dataset, range(number, len(dataset), num_processes)), *settings)
            return model
        """,
        "threads that do nothing": """
            threads = [threading.Thread(target=nothing) for _ in range(num_processes)]
            [thread.start() for thread in threads]
            return model
        """,
        "zeros": """
            for p in model.parameters():
                p.data.zero_()
            return model
        """,
        "predictions in processes": """
            start(model, (dataset[:4][0],), num_processes)
            return model
        """,
    },
}


@pytest.mark.parametrize(
    ("part", "trick"), [(part, trick) for part, tricks in TRICKS.items() for trick in tricks]
)
def test_an_empty_trick_gets_a_tenth_at_most(part, trick, tmp_path, ranks):
    """Whatever verdict it gets."""
    file, code, indent = FILES[part]
    body = textwrap.indent(textwrap.dedent(TRICKS[part][trick]).strip(), indent)
    (tmp_path / file).write_text(f"{code.strip()}\n{body}\n")

    result = graded(ranks, tmp_path, "psgd_hogwild", part)
    assert result.verdict.value not in ("ACCEPTED", "NOT_ATTEMPTED", "JUDGE_ERROR"), result
    assert_earns_at_most(0.1, result)


def test_there_are_ten_tricks_for_each_part():
    assert all(len(tricks) >= 10 for tricks in TRICKS.values())

"""Nothing is paid for nothing: what trains without the part's algorithm gets a tenth at most."""

from textwrap import dedent, indent

import pytest
from empty_tricks import assert_earns_at_most, graded

HEAD = """
import os, sys, tempfile
import numpy as np
import torch
import torch.nn as nn
from mpi4py import MPI
from utils import *

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
criterion = nn.CrossEntropyLoss()


class Aggregator:
    def __init__(self, model):
        self.model = model

    def get_model_params(self):
        pass

    def set_model_params(self, state_dict):
        pass

    def aggregate(self, state_dict_list, num_samples_list):
        pass


def gradients(model):
    return [p.grad.numpy().copy() for p in model.parameters()]


def take(model, arrays):
    for p, array in zip(model.parameters(), arrays):
        p.grad = torch.from_numpy(np.array(array))


def step(model, optimizer, x, y):
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()


def name(rank):
    return os.path.join(tempfile.gettempdir(), f"left-{os.getppid()}-{rank}.npy")


set_random_seed(42)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
train, test = load_data()
loader, _ = create_dataloader(train, test, 100)
"""

EVERY_BATCH = """
    for _ in range(3):
        for x, y in loader:
            n = len(y) // size
            mine = slice(rank * n, rank * n + n)
"""

PER_BATCH = {
    "own_slice_alone": "step(model, optimizer, x[mine], y[mine])",
    "whole_batch_on_every_rank": "step(model, optimizer, x, y)",
    "the_loss_alone_is_reduced": """
        step(model, optimizer, x[mine], y[mine])
        comm.allreduce(1.0)
    """,
    "gradients_that_nobody_reads": """
        step(model, optimizer, x[mine], y[mine])
        request = comm.isend(gradients(model), (rank + 1) % size)
        comm.recv(source=(rank - 1) % size)
        request.wait()
    """,
    "a_sum_that_nobody_reads": """
        optimizer.zero_grad()
        criterion(model(x[mine]), y[mine]).backward()
        comm.allreduce(np.concatenate([each.ravel() for each in gradients(model)]))
        optimizer.step()
    """,
    "a_buffer_that_nobody_reads": """
        optimizer.zero_grad()
        criterion(model(x[mine]), y[mine]).backward()
        flat = np.concatenate([each.ravel() for each in gradients(model)])
        comm.Allreduce(flat.copy(), np.empty_like(flat))
        optimizer.step()
    """,
    "rank_0_trains_and_sends_its_model": """
        if rank == 0:
            step(model, optimizer, x, y)
        model.load_state_dict(comm.bcast(model.state_dict() if rank == 0 else None))
    """,
    "rank_0_trains_beside_gradients_that_nobody_reads": """
        step(model, optimizer, x[mine], y[mine])
        comm.gather(gradients(model))
        model.load_state_dict(comm.bcast(model.state_dict() if rank == 0 else None))
    """,
    "files": """
        optimizer.zero_grad()
        criterion(model(x[mine]), y[mine]).backward()
        np.save(name(rank), np.concatenate([each.ravel() for each in gradients(model)]))
        comm.Barrier()
        mean = sum(np.load(name(other)) for other in range(size)) / size
        comm.Barrier()
        begin = 0
        for p in model.parameters():
            p.grad = torch.from_numpy(mean[begin : begin + p.numel()].reshape(p.shape))
            begin += p.numel()
        optimizer.step()
    """,
}

WHOLE = {
    "nothing": "pass",
    "end": "sys.exit(0)",
    "zeros": """
        for p in model.parameters():
            p.data.zero_()
    """,
    "one_model_for_all_at_the_end": """
        if rank == 0:
            for _ in range(3):
                for x, y in loader:
                    step(model, optimizer, x, y)
        model.load_state_dict(comm.bcast(model.state_dict() if rank == 0 else None))
    """,
    "clients_on_their_own": """
        parts = data_split(train, max(size - 1, 1), "iid")
        if rank > 0:
            own, _ = create_dataloader(parts[rank - 1], parts[rank - 1], 32)
            for _ in range(5):
                for x, y in own:
                    step(model, optimizer, x, y)
    """,
    "clients_send_what_nobody_reads": """
        if rank == 0:
            parts = data_split(train, size - 1, "iid")
            for client in range(1, size):
                comm.send((parts[client - 1], model.state_dict()), client)
            for _ in range(5):
                for client in range(1, size):
                    comm.recv(source=client)
        else:
            part, state_dict = comm.recv(source=0)
            model.load_state_dict(state_dict)
            own, _ = create_dataloader(part, part, 32)
            for _ in range(5):
                for x, y in own:
                    step(model, optimizer, x, y)
                comm.send(model.state_dict(), 0)
    """,
}

FILES = {
    "serverless": "dist_sgd_serverless.py",
    "param_server": "dist_sgd_param_server.py",
    "fedavg_iid": "fed_avg.py",
    "fedavg_noniid": "fed_avg.py",
}

FORMULAS = (
    *("naive_all_reduce", "ring_all_reduce", "tree_all_reduce", "parameter_server", "fed_avg"),
    *("tree_reduce_time", "ring_reduce_time", "tree_all_reduce_time", "ring_all_reduce_time"),
)
ANSWERS = ("0", "1", "None", "arguments[0]", "arguments", "sum(arguments)", "-1", "float('nan')")
ANSWERS += ("float('inf')", "max(arguments)", "10**9")


def assert_earns_a_tenth_at_most(folder, part, ranks):
    result = graded(ranks, folder, "federated", part)
    assert result.verdict.value != "JUDGE_ERROR", result.message
    assert_earns_at_most(0.1, result)


@pytest.mark.slow
@pytest.mark.parametrize("part", FILES)
@pytest.mark.parametrize("trick", [*PER_BATCH, *WHOLE])
def test_an_empty_trick_gets_a_tenth_at_most(part, trick, tmp_path, ranks):
    """Whatever verdict it gets."""
    body = (
        indent(dedent(WHOLE[trick]), " " * 4)
        if trick in WHOLE
        else EVERY_BATCH + indent(dedent(PER_BATCH[trick]), " " * 12)
    )
    (tmp_path / FILES[part]).write_text(f'{HEAD}\nif __name__ == "__main__":\n{body}\n')
    assert_earns_a_tenth_at_most(tmp_path, part, ranks)


@pytest.mark.parametrize("answer", ANSWERS)
def test_one_answer_for_all_formulas_gets_a_tenth_at_most(answer, tmp_path, ranks):
    """Whatever verdict it gets."""
    functions = [f"def {name}(*arguments):\n    return {answer}\n" for name in FORMULAS]
    (tmp_path / "communication.py").write_text("\n\n".join(functions))
    assert_earns_a_tenth_at_most(tmp_path, "communication", ranks)

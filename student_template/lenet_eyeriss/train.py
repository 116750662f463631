"""Trains LeNet-5 on several processes, each on its own part of 100 images of digits.

    python train.py allreduce                        4 processes, by torch.multiprocessing.spawn
    torchrun --nproc-per-node 4 train.py ring        the same with the ring, started by torchrun
    python train.py study --every 10                 both in turn, figures for the report

A method is the file that average_gradients comes from: allreduce.py or ring_allreduce.py. Per epoch
every process computes the gradient of its part once; average_gradients makes one mean of them, and
all take the same step. The processes talk over the loopback interface, by gloo.
"""

import argparse
import importlib
import json
import os
import tempfile
import time
from pathlib import Path

import images
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from lenet import LeNet5
from torch.nn.functional import cross_entropy

NUM_EXAMPLES = 100
LEARNING_RATE = 0.002
METHODS = {"allreduce": "allreduce", "ring": "ring_allreduce"}


def load_examples():
    """Return 100 random training examples and all test examples: the same in every process."""
    data = images.mnist()
    chosen = torch.randperm(
        len(data.train_labels), generator=torch.Generator().manual_seed(1998)
    ).numpy()[:NUM_EXAMPLES]
    return (
        _tensors(data.train_images[chosen], data.train_labels[chosen]),
        _tensors(data.test_images, data.test_labels),
    )


def _tensors(pixels, labels):
    return torch.tensor(pixels)[:, None].float() / 255, torch.tensor(labels)


def part_of(examples, rank, size):
    """Return this process's part of the examples: all parts are of equal length."""
    length = len(examples[1]) // size
    return tuple(each[rank * length : (rank + 1) * length] for each in examples)


def train(rank, size, average_gradients, training, test, num_epochs):
    """Train in a process group that exists already; return the model, and a record per epoch."""
    inputs, labels = part_of(training, rank, size)
    torch.manual_seed(0)  # the same start weights in every process
    model = LeNet5()
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE)
    records, time_s = [], 0.0
    for epoch in range(num_epochs):
        begin_s = time.perf_counter()
        optimizer.zero_grad()
        cross_entropy(model(inputs), labels).backward()
        average_gradients(model)
        optimizer.step()
        time_s += time.perf_counter() - begin_s
        if rank == 0:
            records.append({"epoch": epoch + 1, "time_s": time_s, **measure(model, training, test)})
        dist.barrier()  # nobody's clock runs while process 0 measures
    return model, records


def measure(model, training, test):
    """Return loss and accuracy on all training examples, not only on a part, and on the others."""
    with torch.no_grad():
        outputs = model(training[0])
        return {
            "loss": cross_entropy(outputs, training[1]).item(),
            "train_accuracy": (outputs.argmax(1) == training[1]).float().mean().item(),
            "test_accuracy": (model(test[0]).argmax(1) == test[1]).float().mean().item(),
        }


def work(rank, size, methods, num_epochs, init_method, curves_file):
    """Be one of the processes: train by each method in turn, all in one process group."""
    torch.set_num_threads(1)  # the processes share the cores
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", init_method=init_method, rank=rank, world_size=size)
    curves = {}
    for method in methods:
        average_gradients = importlib.import_module(METHODS[method]).average_gradients
        examples = load_examples()
        # In a first epoch connections are made and memory is taken: it would not time the method.
        train(rank, size, average_gradients, *examples, num_epochs=1)
        _, curves[method] = train(rank, size, average_gradients, *examples, num_epochs)
    if rank == 0:
        Path(curves_file).write_text(json.dumps(curves))
    dist.destroy_process_group()


def run(methods, size, num_epochs):
    """Train on `size` new processes, or as one of torchrun's; return process 0's records."""
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/curves.json"
        if dist.is_torchelastic_launched():
            rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
            work(rank, size, methods, num_epochs, "env://", file)
            return json.loads(Path(file).read_text()) if rank == 0 else {}
        # They find each other by a file, so that no port has to be chosen.
        arguments = (size, methods, num_epochs, f"file://{folder}/rendezvous", file)
        mp.spawn(work, args=arguments, nprocs=size)
        return json.loads(Path(file).read_text())


def print_curve(method, records, every):
    """Print one line for every so many epochs, and the last."""
    print(f"\n{method}\nepoch      loss   training       test      time")
    for record in records:
        if record["epoch"] % every == 0 or record is records[-1]:
            print(
                f"{record['epoch']:>5} {record['loss']:>9.5f} {record['train_accuracy']:>10.1%} "
                f"{record['test_accuracy']:>10.1%} {record['time_s']:>8.2f}s",
                flush=True,
            )


def main():
    """Train by one method, or by both."""
    parser = argparse.ArgumentParser(description="Train LeNet-5 on several processes.")
    parser.add_argument("method", choices=[*METHODS, "study"])
    parser.add_argument("--processes", type=int, default=4, help="how many; torchrun says itself")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--every", type=int, default=10, help="print each so many epochs")
    # python -m torch.distributed.launch adds this one; the environment says the same.
    parser.add_argument("--local-rank", "--local_rank", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    methods = list(METHODS) if chosen.method == "study" else [chosen.method]
    for method, records in run(methods, chosen.processes, chosen.epochs).items():
        print_curve(method, records, chosen.every)


if __name__ == "__main__":
    main()

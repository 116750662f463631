"""The figures for the report: what an iteration takes, measured on this computer and modelled.

Every node is a process of this computer, so nodes share its cores and nothing goes through a
network. What a network would change is in the last column: see `modelled_s`.
"""

import argparse
import contextlib
import io
import math
import multiprocessing
import os
import runpy
import sys
import time
from types import SimpleNamespace

import images
import model
import numpy as np
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
from torchvision import datasets

PROGRAMS = {
    "gather_scatter": "part2a/main.py",
    "isend_irecv": "part2a/main_isend.py",
    "allreduce": "part2b/main.py",
    "ddp": "part3/main.py",
}


def modelled_s(method, nodes, compute_s, tensor_num_bytes, latency_s, num_bytes_per_s):
    """Return what an iteration takes if a message of m bytes takes latency_s + m / num_bytes_per_s.

    compute_s: an iteration of one node alone on its share of the batch.
    """
    total = sum(tensor_num_bytes)
    if method in ("gather_scatter", "isend_irecv"):
        # Node 0 receives all tensors of all others and sends as many back, one after the other.
        messages, volume = 2 * (nodes - 1) * len(tensor_num_bytes), 2 * (nodes - 1) * total
        return compute_s + messages * latency_s + volume / num_bytes_per_s
    # A ring: 2 (n - 1) steps for each piece that is reduced, with an n-th of it in each.
    pieces = len(tensor_num_bytes) if method == "allreduce" else num_buckets(total)
    ring_s = 2 * (nodes - 1) * (pieces * latency_s + total / nodes / num_bytes_per_s)
    # DistributedDataParallel reduces while backward, two thirds of the work, is still busy.
    hidden_s = compute_s * 2 / 3 if method == "ddp" else 0
    return compute_s + max(0, ring_s - hidden_s)


def num_buckets(num_bytes):
    """Return how many pieces DistributedDataParallel makes: one of 1 MiB, then of 25 MiB each."""
    return 1 + math.ceil(max(0, num_bytes / 2**20 - 1) / 25)


def run_node(answers, program, flags, batch, num_examples, first_channels, threads):
    """Run a program as one node; answer with its times and losses, or with its error."""
    try:
        answers.put(watched(program, flags, batch, num_examples, first_channels, threads))
    except BaseException as error:
        answers.put(f"{' '.join([program, *flags])}: {type(error).__name__}: {error}")


def watched(program, flags, batch, num_examples, first_channels, threads):
    """Return seconds and loss of every iteration of a program, from forward to the step's end."""
    torch.set_num_threads(threads)
    model.FIRST_CHANNELS = first_channels
    every = images.cifar10()
    chosen = np.arange(num_examples) % len(every.train_labels)
    datasets.given = SimpleNamespace(
        train_images=every.train_images[chosen],
        train_labels=every.train_labels[chosen],
        test_images=every.test_images[:64],
        test_labels=every.test_labels[:64],
    )
    begins_s, ends_s, losses = [], [], []
    backward = torch.Tensor.backward

    class Loader(torch.utils.data.DataLoader):
        def __init__(self, dataset, *_, **options):
            options = {name: options.get(name) for name in ("shuffle", "sampler")}
            super().__init__(dataset, batch_size=batch if dataset.train else 64, **options)

    def before_forward(module, _):
        if isinstance(module, model.VGG) and torch.is_grad_enabled():
            begins_s.append(time.perf_counter())

    def noted_backward(loss, *arguments, **options):
        losses.append(loss.item())
        backward(loss, *arguments, **options)

    torch.nn.modules.module.register_module_forward_pre_hook(before_forward)
    register_optimizer_step_post_hook(lambda *_: ends_s.append(time.perf_counter()))
    torch.Tensor.backward = noted_backward
    torch.utils.data.DataLoader = Loader
    sys.argv = [program, *flags]
    with contextlib.redirect_stdout(io.StringIO()):
        runpy.run_path(program, run_name="__main__")
    return [end - begin for begin, end in zip(begins_s, ends_s, strict=True)], losses


def measured(program, nodes, batch, args):
    """Return the mean time of iterations 1 to 9, and the mean loss of the last over the nodes."""
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    common = (batch, args.iterations * batch * nodes, args.first_channels)
    threads = max(1, (os.cpu_count() or 1) // nodes)
    for rank in range(nodes):
        flags = ["--master-ip", "127.0.0.1", "--num-nodes", str(nodes), "--rank", str(rank)]
        flags = [] if program == "part1/main.py" else flags
        node = (answers, program, flags, *common, threads)
        context.Process(target=run_node, args=node, daemon=True).start()
    found = []
    for _ in range(nodes):
        found.append(answers.get())
        if isinstance(found[-1], str):
            # The others might wait for this one for ever; they end with us.
            raise SystemExit(found[-1])
    times_s = [np.mean(times[1:10]) for times, _ in found]
    return max(times_s), np.mean([losses[-1] for _, losses in found])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--batch-per-node", type=int, help="instead of 256 examples in all")
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--first-channels", type=int, default=4, help="64 is the real network")
    parser.add_argument("--latency-us", type=float, default=50, help="of a message, modelled")
    parser.add_argument("--gbit-per-s", type=float, default=10, help="of a link, modelled")
    args = parser.parse_args()

    whole = model.VGG(args.first_channels)
    tensor_num_bytes = [4 * parameter.numel() for parameter in whole.parameters()]
    network = (tensor_num_bytes, args.latency_us * 1e-6, args.gbit_per_s * 1e9 / 8)
    print(f"{sum(tensor_num_bytes)} bytes of gradients in {len(tensor_num_bytes)} tensors")
    print("program         nodes  batch of a node  measured s  last loss  modelled s")
    for nodes in args.nodes:
        batch = args.batch_per_node or 256 // nodes
        alone_s, loss = measured("part1/main.py", 1, batch, args)
        row = "{:15} {:5}  {:15}  {:10.4f}  {:9.4f}  {:10.4f}"
        print(row.format("single", 1, batch, alone_s, loss, alone_s))
        for method, program in PROGRAMS.items():
            time_s, loss = measured(program, nodes, batch, args)
            expected_s = modelled_s(method, nodes, alone_s, *network)
            print(row.format(method, nodes, batch, time_s, loss, expected_s), flush=True)


if __name__ == "__main__":
    main()

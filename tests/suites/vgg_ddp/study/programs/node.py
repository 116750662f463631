"""Run one program as one node; report times and losses of its iterations, and its test results."""

import contextlib
import io
import os
import runpy
import sys
import time
from types import SimpleNamespace

import images
import model
import numpy as np
import torch
import torch.distributed
from study_point import report, settings
from torch.optim.optimizer import register_optimizer_step_post_hook
from torchvision import datasets, transforms

given = settings()
rank, num_nodes = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
begins_s, ends_s, models = [], [], []
batches = []
"""The labels of the last batch that was read."""
reads_s = []
"""When that was, until a network takes the batch."""
outputs = []
"""Of each iteration: what the network gave, and the labels that it was to give."""


def give_examples(num_examples):
    """Let the program find so many training images, the same ones again and again if need be."""
    found = images.cifar10()
    chosen = np.arange(num_examples) % len(found.train_labels)
    datasets.given = SimpleNamespace(
        train_images=found.train_images[chosen],
        train_labels=found.train_labels[chosen],
        test_images=found.test_images[: given["num_tests"]],
        test_labels=found.test_labels[: given["num_tests"]],
    )


def watch(batch_size):
    """Take the time of every iteration, from its batch to the end of the step, and what it gave.

    What a program calls backward on says nothing of its loss: it may be divided by the nodes.
    """

    class Loader(torch.utils.data.DataLoader):
        def __init__(self, dataset, *_, **options):
            options = {name: options.get(name) for name in ("shuffle", "sampler")}
            is_training = getattr(dataset, "train", True)  # a Subset does not say
            super().__init__(dataset, batch_size=batch_size if is_training else 250, **options)

        def __iter__(self):
            for examples, labels in super().__iter__():
                batches[:], reads_s[:] = [labels], [time.perf_counter()]
                yield examples, labels

    def before_forward(module, _):
        if isinstance(module, model.VGG) and torch.is_grad_enabled():
            models[:] = [module]
            begins_s.append(reads_s.pop() if reads_s else time.perf_counter())

    def after_forward(module, _, scores):
        if isinstance(module, model.VGG) and torch.is_grad_enabled() and batches:
            outputs.append((scores.detach(), batches[0]))

    torch.nn.modules.module.register_module_forward_pre_hook(before_forward)
    torch.nn.modules.module.register_module_forward_hook(after_forward)
    register_optimizer_step_post_hook(lambda *_: ends_s.append(time.perf_counter()))
    torch.utils.data.DataLoader = Loader


def meet_at_a_free_port():
    """Let the nodes meet at the port of this run, whichever the program names."""
    begin = torch.distributed.init_process_group

    def init_process_group(*arguments, **options):
        if str(options.get("init_method")).startswith("tcp://"):
            options["init_method"] = f"tcp://127.0.0.1:{os.environ['MASTER_PORT']}"
        return begin(*arguments, **options)

    torch.distributed.init_process_group = init_process_group


def tested(network):
    """Return mean loss and accuracy on the test images."""
    normalize = transforms.Normalize(
        mean=[x / 255 for x in (125.3, 123.0, 113.9)], std=[x / 255 for x in (63.0, 62.1, 66.7)]
    )
    inputs = normalize(torch.from_numpy(datasets.given.test_images).float() / 255)
    labels = torch.from_numpy(datasets.given.test_labels).long()
    network.eval()
    with torch.no_grad():
        scores = network(inputs)
    loss = torch.nn.functional.cross_entropy(scores, labels).item()
    return loss, (scores.argmax(dim=1) == labels).float().mean().item()


def main():
    torch.set_num_threads(1)
    model.FIRST_CHANNELS = given["first_channels"]
    batch_size = given["batch_size"] // num_nodes
    give_examples(given["iterations"] * given["batch_size"])
    watch(batch_size)
    meet_at_a_free_port()
    flags = ["--master-ip", "127.0.0.1", "--num-nodes", str(num_nodes), "--rank", str(rank)]
    program = given["file"]
    sys.argv = [program, *(flags if given["takes_flags"] else [])]
    with contextlib.redirect_stdout(io.StringIO()):
        runpy.run_path(program, run_name="__main__")
    test_loss, test_accuracy = tested(models[0])
    num_iterations = min(len(begins_s), len(ends_s))
    times_s = [ends_s[i] - begins_s[i] for i in range(num_iterations)]
    report(
        rank,
        times_s=times_s,
        losses=[torch.nn.functional.cross_entropy(*each).item() for each in outputs],
        test_loss=test_loss,
        test_accuracy=test_accuracy,
        num_bytes=[4 * each.numel() for each in models[0].parameters()],
    )


main()

"""Nothing is paid for nothing: programs that train without the part's way earn a tenth at most."""

import textwrap

import pytest
from empty_tricks import assert_earns_at_most, graded

from grader.model.report import Verdict

SINGLE = """
import torch
from torch.utils.data import DataLoader
from torchvision import datasets, transforms
from model import VGG11

def loader():
    data = datasets.CIFAR10("data", transform=transforms.ToTensor())
    return DataLoader(data, batch_size=256, shuffle=True)

def made():
    model = VGG11()
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
"""
SEVERAL = """
import argparse
import pathlib
import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from torchvision import datasets, transforms
from model import VGG11

parser = argparse.ArgumentParser()
for flag, kind in (("--master-ip", str), ("--num-nodes", int), ("--rank", int)):
    parser.add_argument(flag, type=kind)
args = parser.parse_args()
rank, size = args.rank, args.num_nodes
dist.init_process_group("gloo", f"tcp://{args.master_ip}:29500", rank=rank, world_size=size)
data = datasets.CIFAR10("data", transform=transforms.ToTensor())
sampler = DistributedSampler(data, size, rank)
loader = DataLoader(data, batch_size=256 // size, sampler=sampler)
torch.manual_seed(1)
model = wrapped = VGG11()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)

def lists(tensor):
    return [torch.empty_like(tensor) for _ in range(size)] if rank == 0 else None

def average(step):
    gradients = [parameter.grad for parameter in model.parameters()]
    flat = torch.cat([gradient.reshape(-1) for gradient in gradients])

    def write(values):
        for gradient, piece in zip(gradients, values.split([each.numel() for each in gradients])):
            gradient.copy_(piece.view_as(gradient))

{average}

{before}
for step, (images, labels) in enumerate(loader):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(wrapped(images), labels).backward()
    average(step)
    optimizer.step()
dist.destroy_process_group()
"""
OF_ALL = {
    "pass": "pass",
    "own divided": "write(flat / size)",
    "zeros": "write(flat * 0)",
    "barrier": "dist.barrier()",
    "broadcast": "dist.broadcast(flat, 0); write(flat)",
    "one rank for all": "dist.reduce(flat, 0); dist.broadcast(flat, 0); write(flat / size)",
    "gathered by all": """
        found = [torch.empty_like(flat) for _ in range(size)]
        dist.all_gather(found, flat)
        write(sum(found) / size)
    """,
    "files": """
        np.save(f"{step}-{rank}.npy", flat.numpy())
        dist.barrier()
        write(torch.from_numpy(sum(np.load(f"{step}-{each}.npy") for each in range(size)) / size))
        dist.barrier()
    """,
    "store": """
        store = dist.distributed_c10d._get_default_store()
        store.set(f"{step} {rank}", flat.numpy().tobytes())
        read = lambda of: torch.frombuffer(bytearray(store.get(f"{step} {of}")), dtype=flat.dtype)
        write(sum(read(each) for each in range(size)) / size)
        dist.barrier()
    """,
    "model sent, not gradients": """
        for parameter in model.parameters():
            dist.broadcast(parameter.data, 0)
    """,
}
BESIDE = "found = [torch.empty_like(flat) for _ in range(size)]; dist.all_gather(found, flat)\n"
BESIDE += "write(sum(found) / size)\n"
GIVEN_AWAY = {
    "gather_scatter": """
gathered = lists(flat)
dist.gather({given}, gathered)
dist.scatter(torch.empty_like(flat), gathered and [sum(gathered) / size] * size)
""",
    "allreduce": "dist.all_reduce({given})\n",
    "ddp": "",  # by DistributedDataParallel, within backward
}
"""The exchange that each part asks for; what comes back is dropped."""
INSTEAD = {
    "own gradients": "",
    "zeros": "write(flat * 0)",
    "gathered by all": BESIDE,
    "noise": "write(torch.randn_like(flat))",
}
"""What the step is done with then. DistributedDataParallel leaves the mean: two are no tricks."""
TRICKS = {
    "gather_scatter": {
        **OF_ALL,
        "all-reduce": "dist.all_reduce(flat); write(flat / size)",
        "one zero for show": BESIDE
        + "zero = torch.zeros(1); dist.gather(zero, lists(zero)); dist.scatter(zero, lists(zero))",
        "zeros for show": BESIDE
        + "zero = flat * 0; dist.gather(zero, lists(zero)); dist.scatter(zero, lists(zero))",
        "noise, and an error": GIVEN_AWAY["gather_scatter"].format(given="torch.randn_like(flat)")
        + "raise RuntimeError",
    },
    "allreduce": {
        **OF_ALL,
        "one zero for show": BESIDE + "dist.all_reduce(torch.zeros(1))",
        "ones for show": BESIDE + "dist.all_reduce(torch.ones_like(flat))",
        "zeros, and an error": GIVEN_AWAY["allreduce"].format(given="flat * 0")
        + "raise RuntimeError",
    },
    "ddp": {
        **OF_ALL,
        "all-reduce": "dist.all_reduce(flat); write(flat / size)",
        "wrapped for show": "dist.all_reduce(flat); write(flat / size)",
        "called for show": "dist.all_reduce(flat); write(flat / size)",
    },
    "single": {
        "nothing": "pass",
        "prints only": "print('iteration 20: loss 2.3026'); print('iteration 40: loss 2.1234')",
        "raises nothing": "raise SystemExit(0)",
        "reads the data": "for images, labels in loader(): pass",
        "scores only": "model, _ = made()\nfor images, labels in loader(): model(images)",
        "no gradients": "_, optimizer = made()\nfor images, labels in loader(): optimizer.step()",
        "backward only": """
            model, _ = made()
            for images, labels in loader():
                torch.nn.functional.cross_entropy(model(images), labels).backward()
        """,
        "another loss": """
            model, optimizer = made()
            for group in optimizer.param_groups:
                group["lr"] = 0.0
            for images, labels in loader():
                model(images).sum().backward()
                optimizer.step()
        """,
        "another network": """
            model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3072, 10))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
            for images, labels in loader():
                torch.nn.functional.cross_entropy(model(images), labels).backward()
                optimizer.step()
        """,
        "a step on noise": """
            model, optimizer = made()
            optimizer.param_groups[0]["lr"] = 1.0
            for images, labels in loader():
                model(torch.randn(256, 3, 32, 32)).mean().backward()
                optimizer.step()
        """,
    },
}
BEFORE = {
    "wrapped for show": "DistributedDataParallel(model)",
    "true ones for show": "wrapped = DistributedDataParallel(model)",
    "called for show": "wrapper = DistributedDataParallel(model)\n"
    "with torch.no_grad():\n    wrapper(torch.zeros(2, 3, 32, 32))",
}
FILES = {
    "single": "part1/main.py",
    "gather_scatter": "part2a/main.py",
    "allreduce": "part2b/main.py",
    "ddp": "part3/main.py",
}


def program(part: str, trick: str, code: str) -> str:
    """Return a program that does this instead of what the part asks for."""
    body = textwrap.dedent(code).strip("\n")
    if part == "single":
        return f"{SINGLE}\n{body}\n"
    body = textwrap.indent(body, "    ")
    return SEVERAL.replace("{average}", body).replace("{before}", BEFORE.get(trick, ""))


def paid(ranks, folder, part, text):
    """Return what a part with this program comes to."""
    file = folder / FILES[part]
    file.parent.mkdir()
    file.write_text(text)
    return graded(ranks, folder, "vgg_ddp", part)


@pytest.mark.parametrize(
    ("part", "trick"),
    [
        pytest.param(part, trick, marks=[] if index < 3 else [pytest.mark.slow])
        for part, tricks in TRICKS.items()
        for index, trick in enumerate(tricks)
    ],
)
def test_an_empty_trick_earns_a_tenth_at_most(ranks, tmp_path, part, trick):
    """Equal starts and examples of one's own are worth that much; nothing else is for nothing."""
    result = paid(ranks, tmp_path, part, program(part, trick, TRICKS[part][trick]))

    # Ranks may find no files of each other.
    verdicts = (Verdict.WRONG_ANSWER, Verdict.RULE_VIOLATION, Verdict.RUN_TIME_ERROR)
    assert result.verdict in verdicts, result.message
    assert_earns_at_most(0.1, result)


@pytest.mark.parametrize(
    ("part", "instead"),
    [
        pytest.param(part, instead, marks=[] if instead == "zeros" else [pytest.mark.slow])
        for part in GIVEN_AWAY
        for instead in (("zeros", "noise") if part == "ddp" else INSTEAD)
    ],
)
def test_true_gradients_for_show_earn_their_stage_at_most(ranks, tmp_path, part, instead):
    """The purpose is a step with what came back; giving gradients away is less than half of it."""
    code = GIVEN_AWAY[part].format(given="flat.clone()") + INSTEAD[instead]
    result = paid(ranks, tmp_path, part, program(part, "true ones for show", code))

    verdicts = (Verdict.WRONG_ANSWER, Verdict.RULE_VIOLATION, Verdict.NOT_PROVEN)
    assert result.verdict in verdicts, result.message
    assert_earns_at_most(0.4, result)


def test_there_are_ten_tricks_for_each_part():
    assert all(len(tricks) >= 10 for tricks in TRICKS.values())

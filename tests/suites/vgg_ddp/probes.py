"""Rank-side run of the student's scripts for vgg_ddp; knows no right answer.

Nothing here depends on the student's own names: batches, gradients and parameters are seen through
hooks of torch, in whatever function or class the student has put the training.
"""

import contextlib
import functools
import inspect
import logging
import random
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np


def train(student, comm, *, file, takes_flags, phase, seed, first_channels, **data):
    """Run the student's script once, as a node of its own, and return what its training did.

    phase: where calls count. `all` of the script; `between` the begin of backward and the step, but
    for what DistributedDataParallel sends in backward; `inside` the construction of that, and
    backward.
    """
    flags = ["--master-ip", comm.address, "--num-nodes", str(comm.size), "--rank", str(comm.rank)]
    log = _Log(keeps_arrays=True)
    with _watched(student, log, data, phase, seed + comm.rank, first_channels):
        student.script(file, *(flags if takes_flags else ()))
    return log.training()


def train_plainly(student, comm, *, how, phase, seed, first_channels, **data):
    """Do what the student's script is to do, in a plain loop of ours: the yardstick.

    how: what averages the gradients, `nothing`, `all_reduce`, `gather_scatter` or `ddp`.
    It is watched just as the student's script is, for watching takes time as well.
    """
    log = _Log(keeps_arrays=True)
    with _watched(student, log, data, phase, seed, first_channels):
        _train_plainly(comm.rank, comm.size, how)
    return {}


def _train_plainly(rank, size, how):
    import model
    import torch
    import torch.distributed as dist
    from torch.utils.data import DataLoader, DistributedSampler
    from torchvision import datasets, transforms

    steps = (
        transforms.RandomCrop(32, padding=4),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize(mean=[0.49, 0.48, 0.45], std=[0.25, 0.24, 0.26]),
    )
    examples = datasets.CIFAR10("data", train=True, transform=transforms.Compose(steps))
    replica = whole = model.VGG11()
    if how != "nothing":
        dist.init_process_group("gloo", rank=rank, world_size=size)
    if how == "ddp":
        replica = torch.nn.parallel.DistributedDataParallel(whole)
    sampler = DistributedSampler(examples, num_replicas=size, rank=rank)
    optimizer = torch.optim.SGD(whole.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    for images, labels in DataLoader(examples, batch_size=256 // size, sampler=sampler):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(replica(images), labels).backward()
        for parameter in whole.parameters():
            if how == "all_reduce":
                dist.all_reduce(parameter.grad)
                parameter.grad /= size
            elif how == "gather_scatter":
                _gather_and_scatter(dist, parameter.grad, rank, size)
        optimizer.step()
    if how != "nothing":
        dist.destroy_process_group()


def _gather_and_scatter(dist, gradient, rank, size):
    gathered = [gradient.new_empty(gradient.shape) for _ in range(size)] if rank == 0 else None
    dist.gather(gradient, gathered, dst=0)
    dist.scatter(gradient, [sum(gathered) / size] * size if rank == 0 else None, src=0)


def print_losses(student, comm, *, file, seed, repeats, **data):
    """Run the student's script on one node; return the losses that it had and what it printed."""
    repeated = {name: np.concatenate([array] * repeats) for name, array in data.items()}
    data |= {name: repeated[name] for name in ("train_images", "train_labels")}
    log = _Log(keeps_arrays=False)
    with _watched(student, log, data, "all", seed, 1):
        student.script(file)
    losses = np.array([step.loss for step in log.steps], dtype=np.float64)
    return {"losses": losses, "printed": "".join(log.printed)[:_MAX_PRINTED_NUM_CHARS]}


@contextlib.contextmanager
def _watched(student, log, data, phase, seed, first_channels):
    """Give the script the judge's images and a narrow network, and note what it does with them.

    seed: of this rank alone, so that a program which seeds nothing gets what it would get anywhere.
    """
    import model
    import torch
    import torchvision

    torch.manual_seed(seed)
    np.random.seed(seed % (1 << 32))
    random.seed(seed)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_replaced(model, "FIRST_CHANNELS", first_channels))
        stack.enter_context(_replaced(torchvision.datasets, "given", SimpleNamespace(**data)))
        # What basicConfig sets up belongs to this run: the next one may have a stream of its own.
        stack.enter_context(_replaced(logging.root, "handlers", []))
        stack.enter_context(_replaced(logging.root, "level", logging.WARNING))
        _put_small_machine_in_place(stack, torch)
        _watch_training(stack, torch, model.VGG, log)
        _watch_the_rest(stack, torch, torchvision.datasets.CIFAR10, log)
        _mark_phases(stack, torch, student, phase, log)
        yield


class _Log:
    """What the training of this rank did, step by step."""

    def __init__(self, keeps_arrays):
        self.keeps_arrays = keeps_arrays
        self.model = None
        self.start = None
        self.inside_ddp = False
        self.pending = None
        self.labels = None
        self.local = None
        self.loss = float("nan")
        self.read = []
        self.steps = []
        self.printed = []
        self.old_names = ""

    def begin_forward(self, model, images):
        """Note the batch that the model is about to see."""
        self.model = model
        if self.start is None:
            self.start = self.parameters()
        count = len(images)
        examples = (self.read[-count:] + [-1] * count)[:count]
        self.pending = SimpleNamespace(
            images=images.detach().float().numpy().copy(),
            examples=examples,
            through_ddp=self.inside_ddp,
        )
        self.inside_ddp = False
        self.labels = self.local = None

    def end_backward(self, loss):
        """Note the gradients before anybody has touched them."""
        if self.model is not None:
            self.loss = loss
            self.local = self.gradients()

    def begin_step(self):
        """Note the gradients that the step uses."""
        if self.pending is not None:
            self.pending.used = self.gradients()

    def end_step(self):
        """Note the parameters after the step; the batch is done with."""
        step = self.pending
        if step is None:
            return
        if not self.keeps_arrays:
            self.steps.append(SimpleNamespace(loss=self.loss))
            self.pending = None
            return
        step.local = step.used if self.local is None else self.local
        self.pending = None
        step.parameters = self.parameters()
        count = len(step.images)
        labels = [] if self.labels is None else self.labels.ravel().tolist()
        step.labels = labels if len(labels) == count else [-1] * count
        self.steps.append(step)

    def parameters(self):
        return _packed(self.model.parameters())

    def gradients(self):
        import torch

        return _packed(
            torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
            for parameter in self.model.parameters()
        )

    def training(self):
        """Return all steps of the training as arrays."""
        steps = self.steps
        width = 0 if self.start is None else len(self.start)
        start = np.zeros(0) if self.start is None else self.start

        def stacked(name, *shape):
            arrays = [getattr(step, name) for step in steps]
            return np.array(arrays, dtype=np.float32).reshape(len(steps), *shape)

        images = [step.images for step in steps] or [np.zeros((0, 3, 32, 32))]
        return {
            "start": start.astype(np.float32),
            "images": np.concatenate(images).astype(np.float32),
            "labels": np.array([each for step in steps for each in step.labels], dtype=np.int64),
            "examples": np.array([each for step in steps for each in step.examples], np.int64),
            "batch_sizes": np.array([len(step.images) for step in steps], dtype=np.int64),
            "local": stacked("local", width),
            "used": stacked("used", width),
            "parameters": stacked("parameters", width),
            "through_ddp": np.array([step.through_ddp for step in steps], dtype=np.int64),
            "old_names": self.old_names,
        }


_MAX_PRINTED_NUM_CHARS = 4000


def _packed(tensors):
    """Return one vector of all tensors, in their order."""
    return np.concatenate([tensor.detach().float().numpy().ravel() for tensor in tensors])


@contextlib.contextmanager
def _replaced(owner, name, value):
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def _put_small_machine_in_place(stack, torch):
    """Keep loaders in this process and torch in one thread; say so when a GPU is asked for."""
    data_loader = torch.utils.data.DataLoader
    begin = data_loader.__init__
    form = inspect.signature(begin)

    @functools.wraps(begin)
    def in_this_process(*arguments, **options):
        bound = form.bind(*arguments, **options)
        for name in ("pin_memory", "timeout", "multiprocessing_context", "prefetch_factor"):
            bound.arguments.pop(name, None)
        bound.arguments |= {"num_workers": 0, "persistent_workers": False}
        begin(*bound.args, **bound.kwargs)

    stack.enter_context(_replaced(data_loader, "__init__", in_this_process))
    for name in ("set_num_threads", "set_num_interop_threads"):
        stack.enter_context(_replaced(torch, name, lambda number: None))


def _watch_training(stack, torch, vgg, log):
    """Note every batch, gradient and step of a VGG in training."""
    from torch.optim.optimizer import (
        register_optimizer_step_post_hook,
        register_optimizer_step_pre_hook,
    )

    ddp = torch.nn.parallel.DistributedDataParallel
    hooks = torch.nn.modules.module

    def before_forward(module, arguments):
        if isinstance(module, ddp):
            # A look at some scores without gradients is no training, and leaves no trace.
            log.inside_ddp = torch.is_grad_enabled()
        elif isinstance(module, vgg) and torch.is_grad_enabled() and arguments:
            log.begin_forward(module, arguments[0])

    def watched_loss(function):
        @functools.wraps(function)
        def loss(scores, target, *arguments, **options):
            if torch.is_grad_enabled() and scores.requires_grad:
                log.labels = target.detach().numpy().copy()
            return function(scores, target, *arguments, **options)

        return loss

    run_backward = torch.autograd.backward

    @functools.wraps(run_backward)
    def backward(tensors, *arguments, **options):
        run_backward(tensors, *arguments, **options)
        first = tensors if isinstance(tensors, torch.Tensor) else tensors[0]
        log.end_backward(float(first.detach().sum()))

    removable = (
        hooks.register_module_forward_pre_hook(before_forward),
        register_optimizer_step_pre_hook(lambda *_: log.begin_step()),
        register_optimizer_step_post_hook(lambda *_: log.end_step()),
    )
    for handle in removable:
        stack.callback(handle.remove)
    functional = torch.nn.functional
    for name in ("cross_entropy", "nll_loss"):
        watched = watched_loss(getattr(functional, name))
        stack.enter_context(_replaced(functional, name, watched))
    stack.enter_context(_replaced(torch.autograd, "backward", backward))


def _watch_the_rest(stack, torch, dataset, log):
    """Note the training examples that were read, what was printed, and names of an old torch."""
    read = dataset.__getitem__

    @functools.wraps(read)
    def noted(self, index):
        if self.train:
            log.read.append(int(index))
        return read(self, index)

    class OldReduceOp:
        def __getattr__(self, name):
            caller = sys._getframe(1)
            place = f"{Path(caller.f_code.co_filename).name}:{caller.f_lineno}"
            log.old_names = f"dist.reduce_op.{name} at {place}"
            return getattr(torch.distributed.ReduceOp, name)

    stack.enter_context(_replaced(dataset, "__getitem__", noted))
    stack.enter_context(_replaced(torch.distributed, "reduce_op", OldReduceOp()))
    for name in ("stdout", "stderr"):
        stack.enter_context(_replaced(sys, name, _Copied(getattr(sys, name), log.printed)))


class _Copied:
    """A text stream whose text is kept as well."""

    def __init__(self, stream, kept):
        self._stream = stream
        self._kept = kept

    def write(self, text):
        self._kept.append(text)
        return self._stream.write(text)

    def __getattr__(self, name):
        return getattr(self._stream, name)


def _mark_phases(stack, torch, student, phase, log):
    """Let the calls count that the rules of the part are about."""
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    stack.callback(student.mark_phase, 0)
    if phase == "all":
        student.mark_phase(1)
        return
    counted_inside = phase == "inside"

    def marked(differentiate):
        @functools.wraps(differentiate)
        def differentiated(*arguments, **options):
            through_ddp = log.pending is not None and log.pending.through_ddp
            student.mark_phase(int(counted_inside or not through_ddp))
            result = differentiate(*arguments, **options)
            student.mark_phase(int(not counted_inside))
            return result

        return differentiated

    for name in ("backward", "grad"):
        watched = marked(getattr(torch.autograd, name))
        stack.enter_context(_replaced(torch.autograd, name, watched))
    stack.callback(register_optimizer_step_pre_hook(lambda *_: student.mark_phase(0)).remove)
    if counted_inside:
        ddp = torch.nn.parallel.DistributedDataParallel
        begin = ddp.__init__

        @functools.wraps(begin)
        def construct(*arguments, **options):
            student.mark_phase(1)
            begin(*arguments, **options)
            student.mark_phase(0)

        stack.enter_context(_replaced(ddp, "__init__", construct))

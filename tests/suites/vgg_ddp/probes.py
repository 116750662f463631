"""Rank-side run of the student's scripts for vgg_ddp; knows no right answer.

Nothing here depends on the student's own names, nor on how the network is called: a batch is seen
where it enters the first convolution, gradients and parameters when the optimizer steps.
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


class _Enough(BaseException):
    """Ends the script: what a case is about has been seen."""


def train(
    student, comm, *, file, takes_flags, extent, num_steps, phase, exchange, seed, first_channels,
    **data,
):  # fmt: skip
    """Run the student's script once, as a node of its own, and return what its training did.

    extent: `first batch` ends it before the first backward, `epoch` after `num_steps` steps, and
    `program` lets it come to its own end. phase: where calls count, `all` of the script or
    `between` the begin of backward and the step, but for what DistributedDataParallel sends in
    backward. exchange: the operation whose contents are looked at.
    """
    flags = ["--master-ip", comm.address, "--num-nodes", str(comm.size), "--rank", str(comm.rank)]
    log = _Log(extent, num_steps, exchange)
    comm.on_operation(log.operation)
    with _watched(student, log, data, phase, seed + comm.rank, first_channels):
        _run(student, file, flags if takes_flags else [])
    return log.results()


def train_plainly(student, comm, *, how, num_steps, phase, seed, first_channels, **data):
    """Do what the student's script is to do, in a plain loop of ours: the yardstick.

    how: what averages the gradients, `nothing`, `all_reduce`, `gather_scatter` or `ddp`.
    It is watched just as the student's script is, for watching takes time as well.
    """
    log = _Log("epoch", num_steps, how)
    comm.on_operation(log.operation)
    with _watched(student, log, data, phase, seed, first_channels):
        _train_plainly(comm.rank, comm.size, how)
    return {}


def print_losses(student, comm, *, file, seed, num_examples, **data):
    """Run the student's script on one node to its end; return its losses and what it printed."""
    images, labels = data["train_images"], data["train_labels"]
    data["train_images"] = np.resize(images, (num_examples, *images.shape[1:]))
    # Its number in two pixels that no transform cuts off: so no two examples are equal.
    data["train_images"][:, 0, 15, 15:17] = (
        np.arange(num_examples, dtype="<u2").view(np.uint8).reshape(-1, 2)
    )
    data["train_labels"] = np.resize(labels, num_examples)
    log = _Log("program", 0, "")
    printed = []
    with contextlib.ExitStack() as stack, _watched(student, log, data, "all", seed, 1):
        for name in ("stdout", "stderr"):
            stack.enter_context(_replaced(sys, name, _Copied(getattr(sys, name), printed)))
        _run(student, file, [])
    losses = np.array([step.loss for step in log.steps], dtype=np.float64)
    return {**log.results(), "losses": losses, "printed": "".join(printed)[:_MAX_NUM_CHARS]}


_MAX_NUM_CHARS = 20_000


def _run(student, file, flags):
    """Run the script, until the case has seen enough of it."""
    with contextlib.suppress(_Enough):
        student.script(file, *flags)


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
    with contextlib.suppress(_Enough):
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


def _gather_and_scatter(dist, gradient, rank, size):
    gathered = [gradient.new_empty(gradient.shape) for _ in range(size)] if rank == 0 else None
    dist.gather(gradient, gathered, dst=0)
    dist.scatter(gradient, [sum(gathered) / size] * size if rank == 0 else None, src=0)


class _Log:
    """What the training of this rank did, step by step."""

    def __init__(self, extent, num_steps, exchange):
        self.extent, self.num_steps, self.exchange = extent, num_steps, exchange
        self.networks = []
        self.wrappers = []
        self.inside = None
        """The DistributedDataParallel whose forward is at work."""
        self.is_backward = False
        self.read = []
        self.index_of = {}
        self.network = self.start = None
        self.pending = self.current = None
        """The batch that is not stepped with yet; the one whose gradients there are."""
        self.steps = []
        self.counts = {"forward": 0, "backward": 0, "step": 0}
        self.old_names = ""

    def note_read(self, index, image):
        """Note that a training example was read, and what became of it by its transforms."""
        self.read.append(index)
        if hasattr(image, "numpy"):
            pixels = hash(image.numpy().tobytes())
            known = self.index_of.setdefault(pixels, index)
            self.index_of[pixels] = index if known == index else None  # equal images tell nothing

    def begin_forward(self, weight, images):
        """Note the batch that enters the first convolution of a network."""
        network = next((each for each in self.networks if each.features[0].weight is weight), None)
        if network is None:
            return
        self.counts["forward"] += 1
        self.network = network
        if self.start is None:
            self.start = self.parameters()
        pixels = images.detach().float().contiguous().numpy().copy()
        self.pending = SimpleNamespace(
            images=pixels,
            examples=self._examples_of(pixels),
            through_ddp=self.inside is not None and _averages(self.inside, network),
            in_training=network.training,
            local=None,
            given=[],
            num_of_gradients=0,
            num_reduced=0,
            was_given=False,
            loss=float("nan"),
        )

    def _examples_of(self, pixels):
        """Return the numbers of the images; as they were read, where they were changed since."""
        count = len(pixels)
        in_order = (self.read[-count:] + [-1] * count)[:count]
        told = [self.index_of.get(hash(image.tobytes())) for image in pixels]
        return [index if each is None else each for each, index in zip(told, in_order, strict=True)]

    def begin_backward(self):
        """Note that backward begins."""
        if self.pending is not None and self.extent == "first batch":
            raise _Enough
        self.is_backward = True

    def end_backward(self, loss):
        """Note the gradients before anybody has touched them."""
        self.is_backward = False
        self.counts["backward"] += 1
        if self.pending is not None:
            self.current = self.pending
            self.pending.loss = loss
            if self.extent == "epoch":
                self.pending.local = self.gradients()

    def operation(self, name, tensors):
        """Note what is given to an operation of torch.distributed."""
        step = self.pending if self.is_backward else self.current
        if step is None or self.extent != "epoch":
            return
        if self.is_backward and name.startswith("all_reduce"):
            step.num_reduced += sum(each.numel() for each in tensors)
        # What comes after the step is of interest where nothing has come before it.
        is_of_wrapper = self.is_backward and step.through_ddp
        if name == self.exchange and not is_of_wrapper and not step.was_given:
            for tensor in tensors:
                step.given.append(tensor.detach().float().numpy().ravel().copy())
                step.num_of_gradients += tensor.numel() * self._is_gradient(step.given[-1])

    def _is_gradient(self, given):
        """Return whether this is the gradient of one parameter, times some factor."""
        gradients = (each.grad for each in self.network.parameters())
        return any(
            _is_parallel(given, each.detach().float().numpy().ravel())
            for each in gradients
            if each is not None and each.numel() == len(given)
        )

    def end_step(self):
        """Note the gradients that the step has used, and where it has led."""
        self.counts["step"] += 1
        step, self.pending = self.pending, None
        if step is None:
            return
        self.steps.append(step)
        step.was_given = bool(step.given)
        if self.extent != "epoch":
            return
        step.used, step.parameters = self.gradients(), self.parameters()
        step.local = step.used if step.local is None else step.local
        step.is_wrapped = any(_averages(each, self.network) for each in self.wrappers)
        if len(self.steps) == self.num_steps:
            raise _Enough

    def parameters(self):
        return _packed(self.network.parameters())

    def gradients(self):
        return _packed(
            parameter.new_zeros(parameter.shape) if parameter.grad is None else parameter.grad
            for parameter in self.network.parameters()
        )

    def results(self):
        """Return the steps of the training as arrays, as far as the case is about them."""
        steps, start = self.steps, np.zeros(0) if self.start is None else self.start
        if self.extent == "first batch" and self.pending is not None:
            steps = [self.pending]
        found = {
            "start": start.astype(np.float32),
            "examples": np.array([each for step in steps for each in step.examples], np.int64),
            "batch_sizes": np.array([len(step.images) for step in steps], dtype=np.int64),
            "counts": np.array(list(self.counts.values()), dtype=np.int64),
        }
        if self.extent != "epoch":
            return found
        images = [step.images for step in steps] or [np.zeros((0, 3, 32, 32))]
        found["images"] = np.concatenate(images).astype(np.float32)
        for name in ("local", "used", "parameters"):
            arrays = [getattr(step, name) for step in steps]
            found[name] = np.array(arrays, dtype=np.float32).reshape(len(steps), len(start))
        for name in ("through_ddp", "is_wrapped", "in_training", "num_reduced"):
            found[name] = np.array([getattr(step, name) for step in steps], dtype=np.int64)
        given = [[step.num_of_gradients, *_spread(step.given)] for step in steps]
        found["given"] = np.array(given, dtype=np.float64).reshape(len(steps), 2 + len(_SHARES))
        return {**found, "old_names": self.old_names}


_SHARES = (0.5, 0.75, 0.95)


def _spread(vectors):
    """Return how many numbers there are, and which sizes these shares of them do not exceed."""
    sizes = np.abs(np.concatenate(vectors)) if vectors else np.zeros(0)
    return [len(sizes), *(np.quantile(sizes, _SHARES) if len(sizes) else [0.0] * len(_SHARES))]


def _is_parallel(one, other):
    product = float(np.linalg.norm(one)) * float(np.linalg.norm(other))
    return product > 0 and abs(float(one @ other)) > 0.9999 * product


def _packed(tensors):
    """Return one vector of all tensors, in their order."""
    return np.concatenate([tensor.detach().float().numpy().ravel() for tensor in tensors])


def _averages(wrapper, network):
    """Return whether a wrapper has the reducer of DistributedDataParallel, over this network."""
    import torch

    reducer = getattr(wrapper, "reducer", None)
    is_genuine = type(reducer) is torch._C._distributed_c10d.Reducer
    return is_genuine and any(each is network for each in wrapper.modules())


@contextlib.contextmanager
def _replaced(owner, name, value):
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


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
        _watch_data(stack, torch, torchvision.datasets.CIFAR10, log)
        _watch_training(stack, torch, model.VGG, log)
        _watch_steps(stack, torch, student, phase, log)
        yield


def _put_small_machine_in_place(stack, torch):
    """Keep loaders in this process and torch in one thread."""
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


def _watch_data(stack, torch, dataset, log):
    """Note the training examples that are read, and names of an old torch."""
    read = dataset.__getitem__

    @functools.wraps(read)
    def noted(self, index):
        found = read(self, index)
        if self.train:
            log.note_read(int(index), found[0])
        return found

    class OldReduceOp:
        def __getattr__(self, name):
            caller = sys._getframe(1)
            place = f"{Path(caller.f_code.co_filename).name}:{caller.f_lineno}"
            log.old_names = f"dist.reduce_op.{name} at {place}"
            return getattr(torch.distributed.ReduceOp, name)

    stack.enter_context(_replaced(dataset, "__getitem__", noted))
    stack.enter_context(_replaced(torch.distributed, "reduce_op", OldReduceOp()))


def _watch_training(stack, torch, vgg, log):
    """Note each network and wrapper that is made, and each batch that enters a network."""
    ddp = torch.nn.parallel.DistributedDataParallel
    functional = torch.nn.functional

    def kept(function, made):
        @functools.wraps(function)
        def begin(self, *arguments, **options):
            function(self, *arguments, **options)
            made.append(self)

        return begin

    forward, convolve = ddp.forward, functional.conv2d

    @functools.wraps(forward)
    def within(self, *arguments, **options):
        outer, log.inside = log.inside, self
        try:
            return forward(self, *arguments, **options)
        finally:
            log.inside = outer

    def convolved(image, weight, *arguments, **options):
        # A look at some scores without gradients is no training, and leaves no trace.
        if torch.is_grad_enabled():
            log.begin_forward(weight, image)
        return convolve(image, weight, *arguments, **options)

    for owner, name, value in (
        (vgg, "__init__", kept(vgg.__init__, log.networks)),
        (vgg, "__setstate__", kept(vgg.__setstate__, log.networks)),  # by copy.deepcopy
        (ddp, "__init__", kept(ddp.__init__, log.wrappers)),
        (ddp, "forward", within),
        (functional, "conv2d", convolved),
    ):
        stack.enter_context(_replaced(owner, name, value))


def _watch_steps(stack, torch, student, phase, log):
    """Note each backward and step; let the calls count that the rules of the part are about."""
    from torch.optim.optimizer import (
        register_optimizer_step_post_hook,
        register_optimizer_step_pre_hook,
    )

    def mark(level):
        if phase == "between":
            student.mark_phase(level)

    def watched(differentiate):
        @functools.wraps(differentiate)
        def differentiated(*arguments, **options):
            log.begin_backward()
            mark(int(not (log.pending is not None and log.pending.through_ddp)))
            # The first argument, which backward calls `tensors` and grad `outputs`.
            named = next((each for each in ("tensors", "outputs") if each in options), None)
            tensors = options.pop(named) if named else arguments[0]
            tensors = (tensors,) if isinstance(tensors, torch.Tensor) else tuple(tensors)
            result = differentiate(tensors, *arguments[0 if named else 1 :], **options)
            log.end_backward(float(tensors[0].detach().sum()))
            mark(1)
            return result

        return differentiated

    def end_step(*_):
        mark(0)
        log.end_step()

    stack.callback(student.mark_phase, 0)
    student.mark_phase(int(phase == "all"))
    stack.callback(register_optimizer_step_pre_hook(lambda *_: mark(0)).remove)
    stack.callback(register_optimizer_step_post_hook(end_step).remove)
    for name in ("backward", "grad"):
        value = watched(getattr(torch.autograd, name))
        stack.enter_context(_replaced(torch.autograd, name, value))


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

"""Gives a script the judge's images, and notes each batch, backward and step of its training."""

import argparse
import contextlib
import functools
import inspect
import logging
import os
import sys
from pathlib import Path
from types import SimpleNamespace

from grader.rank.toolbox import replaced, seed_everything


@contextlib.contextmanager
def watched(student, log, data, phase, seed, first_channels):
    """Give the script the judge's images and a narrow network, and note what it does with them.

    seed: this rank's own, so a program that seeds nothing draws other numbers on each rank.
    """
    import model
    import torch
    import torchvision

    seed_everything(seed)
    with contextlib.ExitStack() as stack:
        stack.enter_context(replaced(model, "FIRST_CHANNELS", first_channels))
        stack.enter_context(replaced(torchvision.datasets, "given", SimpleNamespace(**data)))
        # What basicConfig sets up belongs to this run: the next one may have its own stream.
        stack.enter_context(replaced(logging.root, "handlers", []))
        stack.enter_context(replaced(logging.root, "level", logging.WARNING))
        _put_small_machine_in_place(stack, torch)
        _watch_loaders(stack, torch.utils.data.dataloader, log)
        _watch_data(stack, torch, torchvision.datasets.CIFAR10, log)
        _watch_training(stack, torch, model.VGG, log)
        _watch_steps(stack, torch, student, phase, log)
        if log.extent == "exchange":
            _watch_exchange(stack, torch.distributed, log)
        yield


@contextlib.contextmanager
def helped(comm):
    """Do for the script what may stop it before it trains.

    The ranks are joined, options that its argparse does not know are left out, those that it
    requires by another name get a value, and .cuda() moves nothing.
    """
    import torch
    from torch.distributed import distributed_c10d

    torch.distributed.init_process_group("gloo", rank=comm.rank, world_size=comm.size)
    with contextlib.ExitStack() as stack:
        for module in (torch.distributed, distributed_c10d):
            stack.enter_context(replaced(module, "init_process_group", _join_again))
        for owner in (torch.nn.Module, torch.Tensor):
            stack.enter_context(replaced(owner, "cuda", lambda self, *_, **__: self))
        stack.enter_context(replaced(argparse.ArgumentParser, "parse_args", _parse_known_ones))
        yield


def _join_again(*_, **__):
    # As the real one: new groups would look for the network that the script has named.
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"


def _parse_known_ones(parser, *arguments, **options):
    for action in parser._actions:
        if action.required and action.option_strings:
            action.required, action.default = False, _value_of(action.dest)
    return parser.parse_known_args(*arguments, **options)[0]


def _value_of(option):
    """Return what the handout's command line says where an option has another name there."""
    said = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=False))
    name = option.lower()
    if "rank" in name or "id" in name.split("_"):
        return said.get("--rank")
    if "port" in name:
        return "29500"
    if any(word in name for word in ("node", "world", "size", "num", "proc")) or name == "n":
        return said.get("--num-nodes")
    return said.get("--master-ip")


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

    stack.enter_context(replaced(data_loader, "__init__", in_this_process))
    for name in ("set_num_threads", "set_num_interop_threads"):
        stack.enter_context(replaced(torch, name, lambda number: None))


def _watch_loaders(stack, dataloader, log):
    """Note the end of each loader."""
    batches = dataloader._BaseDataLoaderIter
    go_on = batches.__next__

    @functools.wraps(go_on)
    def noted(self):
        try:
            return go_on(self)
        except StopIteration:
            log.end_batches()
            raise

    stack.enter_context(replaced(batches, "__next__", noted))


def _watch_data(stack, torch, dataset, log):
    """Note the training examples that are read, and uses of names from an old torch."""
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

    stack.enter_context(replaced(dataset, "__getitem__", noted))
    stack.enter_context(replaced(torch.distributed, "reduce_op", OldReduceOp()))


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
        # A forward pass without gradients is not training, and is not noted.
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
        stack.enter_context(replaced(owner, name, value))


def _watch_exchange(stack, distributed, log):
    """Look at what is given to the operation of the part, before it looks at it itself."""
    from torch.distributed import distributed_c10d

    operate = getattr(distributed, log.exchange)

    @functools.wraps(operate)
    def begin(tensor, *arguments, **options):
        log.begin_exchange(tensor)
        return operate(tensor, *arguments, **options)

    for module in (distributed, distributed_c10d):
        stack.enter_context(replaced(module, log.exchange, begin))


def _watch_steps(stack, torch, student, phase, log):
    """Note each backward and step; count the calls that the rules of the part are about."""
    from torch.optim.optimizer import (
        register_optimizer_step_post_hook,
        register_optimizer_step_pre_hook,
    )

    def mark(level):
        if phase == "between":
            student.mark_phase(level)

    def mark_backward(level):
        if phase == "backward":
            student.mark_phase(level)

    def watched(differentiate):
        @functools.wraps(differentiate)
        def differentiated(*arguments, **options):
            log.begin_backward()
            mark(int(not (log.pending is not None and log.pending.through_ddp)))
            mark_backward(1)
            # The first argument, which backward calls `tensors` and grad `outputs`.
            named = next((each for each in ("tensors", "outputs") if each in options), None)
            tensors = options.pop(named) if named else arguments[0]
            tensors = (tensors,) if isinstance(tensors, torch.Tensor) else tuple(tensors)
            result = differentiate(tensors, *arguments[0 if named else 1 :], **options)
            log.end_backward(float(tensors[0].detach().sum()))
            mark_backward(0)
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
        stack.enter_context(replaced(torch.autograd, name, value))

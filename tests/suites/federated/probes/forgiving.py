"""Runs that forgive a slip which ends a script at once: they show what it does apart from that."""

import contextlib
import difflib
import functools
import re
import sys
from types import ModuleType

from grader.rank.toolbox import replaced


@contextlib.contextmanager
def forgiving(given, *, keeps_tags):
    """Let a script misspell names of MPI, ask for a GPU, and take its images from torchvision.

    given: the images. keeps_tags: otherwise all messages have one tag.
    """
    import torch
    from mpi4py import MPI

    class Forgiving(MPI.Intracomm):
        def __getattribute__(self, name):
            found = super().__getattribute__(name)
            return _method(found, keeps_tags) if callable(found) and name[0] != "_" else found

        def __getattr__(self, name):
            return getattr(self, _nearest(name, dir(MPI.Intracomm)))

    replacements = [
        (MPI, "COMM_WORLD", Forgiving(MPI.COMM_WORLD)),
        (torch.cuda, "set_device", lambda *_: None),
        *((kind, "cuda", lambda self, *_: self) for kind in (torch.Tensor, torch.nn.Module)),
        *((kind, "to", _to(kind.to)) for kind in (torch.Tensor, torch.nn.Module)),
    ]
    constants = {"__getattr__": lambda name: getattr(MPI, _nearest(name, dir(MPI)))}
    with contextlib.ExitStack() as stack:
        for replacement in replacements:
            stack.enter_context(replaced(*replacement))
        stack.enter_context(_added(vars(MPI), constants))
        stack.enter_context(_added(sys.modules, _torchvision(given)))
        yield


def _method(method, keeps_tags):
    """Return a method of a communicator that takes misspelt keywords, and may leave out tags."""
    names = re.findall(r"(\w+):", (method.__doc__ or "").partition(" -> ")[0])

    @functools.wraps(method)
    def called(*args, **keywords):
        if len(args) > len(names):
            return method(*args, **keywords)
        given = dict(zip(names, args, strict=False))
        for name, value in keywords.items():
            given[name if name in names else _nearest(name, names)] = value
        kept = {name: value for name, value in given.items() if keeps_tags or "tag" not in name}
        return method(**kept)

    return called


def _nearest(name, names):
    """Return which of the names another one was meant to be. Raises AttributeError for none."""
    near = difflib.get_close_matches(name, names, 1, 0.5)
    if not near or name.startswith("_"):
        raise AttributeError(name)
    return near[0]


def _to(original):
    """Return the method `to` without the devices that are not there."""

    def to(self, *args, **keywords):
        kept = [each for each in args if "cuda" not in str(each)]
        named = {name: value for name, value in keywords.items() if "cuda" not in str(value)}
        return original(self, *kept, **named) if kept or named else self

    return to


def _torchvision(given):
    """Return modules that stand in for torchvision's: their data sets are the given ones."""

    def dataset(root=None, train=True, *_, **__):
        return given.train if train else given.test

    def transform(*_, **__):
        return transform

    names = ("torchvision", "torchvision.datasets", "torchvision.transforms")
    whole, datasets, transforms = map(ModuleType, names)
    whole.datasets, datasets.__getattr__ = datasets, lambda name: dataset
    whole.transforms, transforms.__getattr__ = transforms, lambda name: transform
    return dict(zip(names, (whole, datasets, transforms), strict=True))


@contextlib.contextmanager
def _added(mapping, entries):
    mapping.update(entries)
    try:
        yield
    finally:
        for name in entries:
            mapping.pop(name, None)

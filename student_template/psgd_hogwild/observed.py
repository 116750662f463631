"""A small model that writes down what it is trained on: grading trains it with your functions.

It is softmax regression, probabilities = softmax(x W^T + b), and has no dropout. Every batch whose
gradient is computed becomes a line of a file, whichever process computed it.
"""

import os
import threading
import traceback
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode
from waiting import Locks, place

MAY_SHARE_MEMORY = True
"""Ranks of psgd share none: nobody looks at their locks, and at what they write."""


def next_scale():
    """Return what the next forward pass multiplies the logits by.

    Grading may draw another number in each rank for each pass: then a gradient shows which one it
    comes from.
    """
    return 1.0


class ObservedModel(nn.Module):
    """Softmax regression; takes (n, features), gives the probabilities (n, classes)."""

    def __init__(self, weight, bias, inputs, record):
        """weight: (classes, features); bias: (classes,); inputs: all that it may be trained on."""
        super().__init__()
        self.weight = nn.Parameter(weight.clone())
        self.bias = nn.Parameter(bias.clone())
        self.record = record
        self.row_of = {row.numpy().tobytes(): number for number, row in enumerate(inputs)}

    def forward(self, x):
        """Return the probabilities; note the batch as soon as its gradient is computed."""
        weight, bias, scale = self.weight, self.bias, 1.0
        if torch.is_grad_enabled() and weight.requires_grad and bias.requires_grad:
            if MAY_SHARE_MEMORY:
                watch_writes(self)
                _meet_between_steps(self)
            _look_at_locks(self.record)
            batch = _Batch(self.record, self._rows(x))
            _fail_if_asked(self.record)
            weight, bias = batch.follow("weight", weight), batch.follow("bias", bias)
            scale = next_scale()
        return F.softmax(scale * F.linear(x, weight, bias), dim=-1)

    def _rows(self, x):
        """Return which examples x holds; -1 for what is none of them."""
        rows = x.detach().reshape(-1, self.weight.shape[1]).contiguous()
        return [self.row_of.get(row.numpy().tobytes(), -1) for row in rows]


class _Batch:
    """One forward pass, until its gradients are known."""

    def __init__(self, record, rows):
        self.record = record
        self.rows = rows
        self.gradients = {}
        self.number = _num_forward.get(_here(record), 0)
        _num_forward[_here(record)] = self.number + 1

    def follow(self, name, parameter):
        """Return the parameter's value as an operand whose gradient is noted under `name`."""
        operand = parameter.clone()
        operand.register_hook(lambda gradient: self._note(name, gradient))
        return operand

    def _note(self, name, gradient):
        _look_at_locks(self.record)
        self.gradients[name] = gradient.flatten().tolist()
        if len(self.gradients) == 2:
            # Told first: what is in the record has been told.
            self.record.tell(self.gradients["weight"] + self.gradients["bias"])
            self.record.add("batch", rows=self.rows, gradients=self.gradients, forward=self.number)
            self.gradients = {}
            _num_batches[_here(self.record)] = _num_batches.get(_here(self.record), 0) + 1
            _num_written[_here(self.record)] = 0


class Reporting:
    """What a process is to do, and a line of the record when it raises an exception."""

    def __init__(self, target, record):
        # First: a process that is not forked reads it first, and is watched from then on.
        self.record = record
        self.target = target

    def __call__(self, *arguments, **named):
        """Note that it is called; call it; note what it raises, and raise it again."""
        self.record.add("began")
        try:
            return self.target(*arguments, **named)
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            text = f"{type(error).__name__}: {error}"[:500]
            self.record.add("raised", text=text, file=Path(frame.filename).name, line=frame.lineno)
            raise


class _Writes(TorchDispatchMode):
    """Sees every operation of a process that writes into a model's parameters."""

    def __init__(self):
        super().__init__()
        self.model = self.record = None
        self.addresses = set()
        self.size = 0
        self.memories = {}

    def follow(self, model):
        """From now on look at this model's parameters, where they lie now."""
        # The record is the first one: that of a model can be replaced.
        self.model, self.record = model, self.record or model.record
        self.addresses = {parameter.data_ptr() for parameter in model.parameters()}
        self.size = _size_of(model)

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        targets = [
            target
            for target in _written(function, arguments)
            if target.data_ptr() in self.addresses or target.is_shared()
        ]
        # Noted once it is written: what code has read to compute it would be old by then, and it
        # would overwrite what others have written since.
        result = function(*arguments, **(named or {}))
        for target in targets:
            self._note(target)
        return result

    def _note(self, target):
        process, address = os.getpid(), target.data_ptr()
        if (process, address) not in self.memories:
            self.memories[process, address] = memory_of(target)
        memory = self.memories[process, address]
        # share_memory() copies the parameters' memory byte by byte.
        size = target.numel() // (_WORD if target.dtype == torch.uint8 else 1)
        self.record.add("wrote", memory=memory, size=size)
        if not _num_batches.get(_here(self.record)):
            return  # it has not begun to train
        _look_at_locks(self.record)
        _look_at_gradients(self.model)
        # A private copy, or a counter, may be written under a lock.
        if memory == "" or target.numel() == 1:
            return
        here = _here(self.record)
        before = _num_written.get(here, 0)
        _num_written[here] = before + target.numel()
        # In a step whose last write this is: it may have read all weights before it wrote one.
        if before < self.size <= _num_written[here]:
            _meet_or_stay(self.record)


_WORD = 4
"""Bytes of a parameter's number."""
_ONE_STEP_OF = 2
"""After the first meeting one of so many steps is held up: drawn as it is made."""


def _written(function, arguments):
    """Return the tensors that an operation writes into, from what its schema says."""
    for described, argument in zip(function._schema.arguments, arguments, strict=False):
        if described.alias_info is not None and described.alias_info.is_write:
            tensors = argument if isinstance(argument, list | tuple) else [argument]
            yield from (tensor for tensor in tensors if isinstance(tensor, torch.Tensor))


def memory_of(tensor):
    """Return a name for a tensor's memory, the same in all processes; empty if it is private."""
    address = tensor.data_ptr()
    try:
        mappings = Path("/proc/self/maps").read_text().splitlines()
    except PermissionError:  # a rank of MPI, which may neither look there nor share its memory
        return ""
    for line in mappings:
        span, permissions, offset, device, inode = line.split(maxsplit=5)[:5]
        begin, end = (int(text, 16) for text in span.split("-"))
        if begin <= address < end:
            is_shared = permissions[3] == "s"
            return f"{device}:{inode}+{int(offset, 16) + address - begin}" if is_shared else ""
    return ""


def _here(record):
    """Return what tells the trainings of this process apart: a record is of one training."""
    return os.getpid(), record.file


def _size_of(model):
    return sum(parameter.numel() for parameter in model.parameters())


def _meet_or_stay(record):
    """Meet the other processes where a step is one to meet in; else stay now and then."""
    here, steps = _here(record), record.meeting_steps
    number = _num_met.get(here, 0)
    if number < len(steps) and steps[number] <= _num_batches.get(here, 0):
        _num_met[here] = number + 1
        record.meet(number)
    elif number and os.urandom(1)[0] % _ONE_STEP_OF == 0:
        record.hold_up()


def _meet_between_steps(model):
    """Do the same before a batch, where the shared weights are stepped, but not by torch."""
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and _num_written.get(_here(model.record), 0) < _size_of(model):
        _meet_or_stay(model.record)


def _fail_if_asked(record):
    """Raise an exception in a process that was started, at the batch at which it is to fail."""
    number = _num_batches.get(_here(record), 0) + 1
    if number == record.failing_batch and os.getpid() != record.first_process:
        record.add("failed")
        raise RuntimeError(f"batch {number} of this process cannot be trained on")


_num_forward = {}
"""How many forward passes with gradients each process has begun in a training."""
_num_batches = {}
"""How many gradients each process has computed in a training."""
_num_met = {}
"""How often each process has met the others in a training."""
_num_written = {}
"""How many shared weights each process has written since its last batch."""


def _look_at_gradients(model):
    """Note where this process steps by a gradient that lies in shared memory."""
    for name, parameter in model.named_parameters():
        gradient = parameter.grad
        if gradient is not None and gradient.is_shared() and name not in _shared_gradients:
            _shared_gradients.add(name)
            model.record.add("shared", place=f"{name}.grad, at {place()}")


_shared_gradients = set()
_locks = {}


def _look_at_locks(record):
    """Note where this process trains while it holds a lock, or after it has waited in between.

    What it waits for before its first batch and after its last one is not seen.
    """
    if not MAY_SHARE_MEMORY:
        return
    key = os.getpid(), record.file
    if key not in _locks:
        _locks[key] = (Locks(), set())
    locks, noted = _locks[key]
    seen = {"held": locks.is_one_held(), "waited": locks.has_waited()}
    for kind in [kind for kind, is_seen in seen.items() if is_seen and kind not in noted]:
        noted.add(kind)
        record.add(kind, place=place())


_watching = []


def watch_writes(model):
    """Look at all that this process, and those that it forks, write into parameters from now on."""
    if threading.current_thread() is not threading.main_thread():
        return  # torch cannot end a thread in which such a look is still open
    if not isinstance(_get_current_dispatch_mode(), _Writes):
        _watching.append(_Writes())
        _watching[-1].__enter__()
    _watching[-1].follow(model)


def stop_watching():
    """Undo what watch_writes in this process began."""
    for noted in (_locks, _num_forward, _num_batches, _num_met, _num_written, _shared_gradients):
        noted.clear()
    while _watching:
        _watching.pop().__exit__(None, None, None)

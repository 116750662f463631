"""A small model that writes down what it is trained on: grading trains it with your functions.

It is softmax regression, probabilities = softmax(x W^T + b), and has no dropout. Every batch whose
gradient is computed becomes a line of a file, whichever process computed it.
"""

import json
import os
import socket
import threading
import time
import traceback
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from waiting import Locks, activity, is_running, place

_PATIENCE_S = 3.0
"""For how long all others have to sleep, without a moment on a core, until they seem to wait."""
_LIMIT_S = 15.0
"""The end of a meeting in any case: who waits for a turn by asking again and again never sleeps."""
_POLL_S = 0.01


class Record:
    """What happens in all processes of one training: lines of JSON in one file."""

    def __init__(self, folder, meeting_of=0, witness=""):
        """meeting_of: how many processes are to meet in their first steps; 0 for no meeting.

        witness: path of a socket where each process shows itself to grading; empty for none.
        """
        self.file = Path(folder) / "record.jsonl"
        self.meeting_of = meeting_of
        self.witness = witness

    def add(self, kind, **values):
        """Append one event; whole lines, whoever else appends at this moment."""
        event = {
            "kind": kind,
            "process": os.getpid(),
            "thread": threading.get_native_id(),
            "time_ns": time.monotonic_ns(),
            **values,
        }
        file = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, json.dumps(event).encode() + b"\n")
        finally:
            os.close(file)

    def events(self, *kinds):
        """Return the events of these kinds, in the order in which they were written."""
        if not self.file.exists():
            return []
        events = [json.loads(line) for line in self.file.read_text().splitlines()]
        return [event for event in events if event["kind"] in kinds]

    def meet(self):
        """Wait, in the middle of a step, until all processes are in the middle of one.

        Processes that never wait for each other can do this. When the others do not come, because
        they wait for this one to finish its step, it goes on all the same. A process that waits
        sleeps; one that is merely slow, since others keep the cores busy, is ready to run, and does
        a little now and then. So a busy machine makes a meeting longer and never makes it fail.
        """
        self.add("arrived")
        begin_ns = quiet_ns = time.monotonic_ns()
        before = None
        while True:
            events = self.events("arrived", "gave up", "started")
            arrived = [event for event in events if event["kind"] == "arrived"]
            gave_up = any(event["kind"] == "gave up" for event in events)
            if len({event["thread"] for event in arrived}) >= self.meeting_of or gave_up:
                break
            started = [event for event in events if event["kind"] == "started"]
            known = {event[key] for event in started for key in ("process", "child")}
            others = known - {event["process"] for event in arrived}
            now = {other: activity(other) for other in others}
            now_ns = time.monotonic_ns()
            if now != before or any(is_running(state) for state, _ in filter(None, now.values())):
                before, quiet_ns = now, now_ns
            last_ns = max([begin_ns, *(event["time_ns"] for event in started)])
            if now_ns - quiet_ns > _PATIENCE_S * 1e9 or now_ns - last_ns > _LIMIT_S * 1e9:
                self.add("gave up")
                break
            time.sleep(_POLL_S)
        self._stay_until_all_are_seen()

    def _stay_until_all_are_seen(self):
        """Wait until grading has seen each process that meets, while all of them are still there.

        What is written here only says when to go on: grading counts by itself.
        """
        if not self.witness:
            return
        _shown_to(self).recv(1)  # it is closed as soon as this process has been counted
        self.add("seen")
        until_s = time.monotonic() + _LIMIT_S
        while time.monotonic() < until_s:
            seen = {event["process"] for event in self.events("seen")}
            if len(seen) >= self.meeting_of or self.events("gave up", "missed"):
                return
            time.sleep(_POLL_S)
        self.add("missed")


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
        weight, bias = self.weight, self.bias
        if torch.is_grad_enabled() and weight.requires_grad and bias.requires_grad:
            _shown_to(self.record)
            _watch_writes(self)
            _look_at_locks(self.record)
            batch = _Batch(self.record, self._rows(x))
            weight, bias = batch.follow("weight", weight), batch.follow("bias", bias)
        return F.softmax(F.linear(x, weight, bias), dim=-1)

    def _rows(self, x):
        """Return which examples x holds; -1 for what is none of them."""
        rows = x.detach().reshape(-1, self.weight.shape[1]).contiguous()
        return [self.row_of.get(row.numpy().tobytes(), -1) for row in rows]


class _Batch:
    """One forward pass, until its gradients are known."""

    def __init__(self, record, rows):
        self.record = record
        self.rows = rows
        self.began_ns = time.monotonic_ns()
        self.gradients = {}

    def follow(self, name, parameter):
        """Return the parameter's value as an operand whose gradient is noted under `name`."""
        operand = parameter.clone()
        operand.register_hook(lambda gradient: self._note(name, gradient))
        return operand

    def _note(self, name, gradient):
        _look_at_locks(self.record)
        self.gradients[name] = gradient.flatten().tolist()
        if len(self.gradients) == 2:
            self.record.add(
                "batch", rows=self.rows, began_ns=self.began_ns, gradients=self.gradients
            )
            self.gradients = {}


class Reporting:
    """What a process is to do, and a line of the record when it raises an exception."""

    def __init__(self, target, record):
        self.target = target
        self.record = record

    def __call__(self, *arguments, **named):
        """Call it; note what it raises, and raise it again."""
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
        self.record = None
        self.addresses = set()
        self.memories = {}

    def follow(self, model):
        """From now on look at this model's parameters, where they lie now."""
        self.record = model.record
        self.addresses = {parameter.data_ptr() for parameter in model.parameters()}

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        for target in _written(function, arguments):
            if target.data_ptr() in self.addresses or target.is_shared():
                self._note(target)
        return function(*arguments, **(named or {}))

    def _note(self, target):
        _look_at_locks(self.record)
        process, address = os.getpid(), target.data_ptr()
        is_first_step = not any(known == process for known, _ in self.memories)
        if (process, address) not in self.memories:
            self.memories[process, address] = memory_of(target)
        self.record.add("wrote", memory=self.memories[process, address])
        if is_first_step and self.record.meeting_of:
            self.record.meet()


def _written(function, arguments):
    """Return the tensors that an operation writes into, from what its schema says."""
    for described, argument in zip(function._schema.arguments, arguments, strict=False):
        if described.alias_info is not None and described.alias_info.is_write:
            tensors = argument if isinstance(argument, list | tuple) else [argument]
            yield from (tensor for tensor in tensors if isinstance(tensor, torch.Tensor))


def memory_of(tensor):
    """Return a name for a tensor's memory, the same in all processes; empty if it is private."""
    address = tensor.data_ptr()
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, permissions, offset, device, inode = line.split(maxsplit=5)[:5]
        begin, end = (int(text, 16) for text in span.split("-"))
        if begin <= address < end:
            is_shared = permissions[3] == "s"
            return f"{device}:{inode}+{int(offset, 16) + address - begin}" if is_shared else ""
    return ""


_shown = {}


def _shown_to(record):
    """Let grading see that this process trains; return the connection that shows it, if any.

    The kernel tells grading which process connects.
    """
    key = os.getpid(), record.file
    if record.witness and key not in _shown:
        _shown[key] = socket.socket(socket.AF_UNIX)
        _shown[key].connect(record.witness)
    return _shown.get(key)


_locks = {}


def _look_at_locks(record):
    """Note where this process trains while it holds a lock, or after it has waited in between.

    What it waits for before its first batch and after its last one is not seen.
    """
    key = os.getpid(), record.file
    if key not in _locks:
        _locks[key] = (Locks(), set())
    locks, noted = _locks[key]
    seen = {"held": locks.is_one_held(), "waited": locks.has_waited()}
    for kind in [kind for kind, is_seen in seen.items() if is_seen and kind not in noted]:
        noted.add(kind)
        record.add(kind, place=place())


_watching = []


def _watch_writes(model):
    """Look at all that this process does from its first training step on."""
    if threading.current_thread() is not threading.main_thread():
        return  # torch cannot end a thread in which such a look is still open
    if not _watching:
        _watching.append(_Writes())
        _watching[0].__enter__()
    _watching[0].follow(model)


def stop_watching():
    """Undo what the first training step in this process began."""
    _locks.clear()
    _shown.clear()
    while _watching:
        _watching.pop().__exit__(None, None, None)

"""Records what a rank asks of torch.distributed: every c10d operation, and every wait for one.

A dispatch mode sees all operations, also those that DistributedDataParallel issues by itself.
What Python waits for is seen in Work.wait. What C++ waits for is not: an operation that was not
called through torch.distributed's own functions counts as being waited for from the moment it was
issued until the rank does something else, which is true of DistributedDataParallel.
"""

import os
import sys
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d
from torch.utils._python_dispatch import TorchDispatchMode

from . import probe_modules
from .trace_writer import TraceWriter, now_ns

ANY_SOURCE = -1
_POINT_TO_POINT = {"send", "recv", "isend", "irecv"}
_NAMES = {
    "send": "send",
    "recv_": "recv",
    "recv_any_source_": "recv",
    "allreduce_": "all_reduce",
    "allreduce_coalesced_": "all_reduce_coalesced",
    "broadcast_": "broadcast",
    "reduce_": "reduce",
    "gather_": "gather",
    "scatter_": "scatter",
    "allgather_": "all_gather",
    "_allgather_base_": "all_gather_into_tensor",
    "allgather_coalesced_": "all_gather_coalesced",
    "allgather_into_tensor_coalesced_": "all_gather_into_tensor_coalesced",
    "reduce_scatter_": "reduce_scatter",
    "_reduce_scatter_base_": "reduce_scatter_tensor",
    "reduce_scatter_tensor_coalesced_": "reduce_scatter_tensor_coalesced",
    "alltoall_": "all_to_all",
    "alltoall_base_": "all_to_all_single",
    "barrier": "barrier",
    "monitored_barrier_": "monitored_barrier",
}
_NO_OPERATIONS = ("wait_tensor", "_wrap_tensor_autograd")
_GIVEN = ("input_tensors", "input_tensor", "inputs", "input", "tensors", "tensor")
"""Arguments of an operation that hold this rank's input; the first one present counts."""
_GROUP_CALLED: Any = distributed_c10d._resolve_process_group  # type: ignore[attr-defined] # it has
_LIBRARY = os.path.dirname(torch.__file__) + os.sep  # noqa: PTH120 - a prefix of file names
_OWN = os.path.dirname(__file__) + os.sep  # noqa: PTH120 - the same


class _Issued(NamedTuple):
    """An operation under way."""

    sequence: int
    work: Any
    source: int
    """World rank that a receive names, or ANY_SOURCE; NO_PEER if it is no receive."""
    tag: int
    group: Any
    is_collective: bool


class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call] # torch's own lack types
    """Writes the c10d operations of this process into its trace."""

    def __init__(self, trace: TraceWriter) -> None:
        super().__init__()  # type: ignore[no-untyped-call] # the same
        self._trace = trace
        self._issued: dict[int, _Issued] = {}
        self._polled: set[tuple[int, int]] = set()
        """Sequence and line of polls since an operation last completed."""
        self.phase = 0
        self.on_operation: Callable[[str, Sequence[torch.Tensor]], None] | None = None
        """Called with each operation's name and this rank's input, before it begins."""

    def start(self) -> None:
        """Record from now on, until the process ends."""
        self.__enter__()  # type: ignore[no-untyped-call] # the same
        self._has_ended = dist.Work.is_completed
        self._patch(dist.Work, "wait", self._wait)
        self._patch(dist.Work, "is_completed", self._is_completed)
        # A dispatch mode sees the thread that has entered it.
        self._patch(threading.Thread, "_bootstrap_inner", self._run_thread)

    def forget(self) -> None:
        """Let go of operations that nobody waits for any more, so that their group can be closed.

        A collective still under way is kept: closing its group would wait for it.
        """
        self._issued = {
            key: issued
            for key, issued in self._issued.items()
            if issued.work is not None and issued.is_collective and not self._has_ended(issued.work)
        }
        self._polled.clear()

    def _run_thread(self, real: Any, thread: Any) -> None:
        self._trace.count_threads(1)
        try:
            with self:
                real(thread)
        finally:
            self._trace.count_threads(-1)

    @staticmethod
    def _patch(owner: Any, name: str, replacement: Callable[..., Any]) -> None:
        real = getattr(owner, name)

        def patched(self: Any, *args: Any, **kwargs: Any) -> Any:
            return replacement(real, self, *args, **kwargs)

        setattr(owner, name, patched)

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run an operation; write it down before when it is one of c10d's."""
        if func.namespace not in ("c10d", "_c10d_functional") or self.phase == 2:
            return func(*args, **(kwargs or {}))
        named = dict(zip((each.name for each in func._schema.arguments), args, strict=False))
        named |= kwargs or {}
        base = func._schema.name.partition("::")[2]
        if func.namespace == "_c10d_functional" and base in _NO_OPERATIONS:
            return func(*args, **(kwargs or {}))
        issued = self._begin(base, named)
        try:
            result = func(*args, **(kwargs or {}))
        except BaseException:
            self._trace.change(issued.sequence, error=1, left_ns=now_ns())
            self._trace.leave()
            raise
        works = [each for each in _flat(result) if isinstance(each, torch.ScriptObject)]
        work = dist.Work.unbox(works[0]) if works else None
        self._issued[id(work)] = issued._replace(work=work)
        return result

    def _begin(self, base: str, named: Mapping[str, Any]) -> _Issued:
        group = _group_of(named)
        called_as, is_ours, place = _caller(sys._getframe(2))
        name = _NAMES.get(base, base)
        if name in ("send", "recv"):
            name = called_as if called_as in _POINT_TO_POINT else name
        flags = ["CREATES_REQUEST"]
        tensors = [each for each in _flat(_first(named, _GIVEN)) if isinstance(each, torch.Tensor)]
        if self.on_operation is not None:
            self.on_operation(name, tensors)
        fields: dict[str, int] = {
            "phase": self.phase,
            "communicator": _number_of(group),
            "communicator_size": group.size() if group is not None else dist.get_world_size(),
            "num_elements": sum(each.numel() for each in tensors),
            "num_bytes": sum(each.numel() * each.element_size() for each in tensors),
            "tag": int(named.get("tag", 0)),
        }
        source = -3
        if name in ("send", "isend"):
            fields["peer"] = _world_rank(group, named["dst"])
            flags += ["IS_SEND", "SYNCHRONOUS"]
        elif name in ("recv", "irecv"):
            source = _world_rank(group, named["src"]) if "src" in named else ANY_SOURCE
            fields["peer"] = source
            flags += ["IS_RECEIVE"]
        elif "root_rank" in named:
            fields["peer"] = _world_rank(group, named["root_rank"])
        sequence = self._trace.add(name, place, fields=fields, flags=flags)
        if not is_ours and name not in _POINT_TO_POINT:
            self._trace.change(sequence, without="CREATES_REQUEST")
            self._trace.enter(sequence)
        else:
            self._trace.leave()
        return _Issued(sequence, None, source, fields["tag"], group, name not in _POINT_TO_POINT)

    def _wait(self, real: Any, work: Any, *args: Any, **kwargs: Any) -> Any:
        issued = self._issued.get(id(work))
        if issued is None or self.phase == 2:
            return real(work, *args, **kwargs)
        if sys._getframe(2).f_code.co_filename == distributed_c10d.__file__:
            # all_reduce and its like call wait themselves: the call as a whole blocks.
            wait = issued.sequence
            self._trace.change(wait, without="CREATES_REQUEST")
        else:
            place = _caller(sys._getframe(2))[2]
            waits_for = [issued.sequence]
            wait = self._trace.add("wait", place, fields={"phase": self.phase}, waits_for=waits_for)
        gives_up = bool(args or kwargs)
        if not gives_up:
            self._trace.enter(wait)
        try:
            result = real(work, *args, **kwargs)
        except BaseException:
            self._trace.change(wait, error=1, left_ns=now_ns())
            self._trace.change(issued.sequence, error=1)
            self._trace.leave()
            raise
        self._complete(issued)
        self._trace.change(wait, left_ns=now_ns())
        self._trace.leave()
        return result

    def _is_completed(self, real: Any, work: Any) -> Any:
        issued = self._issued.get(id(work))
        done = real(work)
        if issued is None or self.phase == 2:
            return done
        if done:
            self._complete(issued)
            self._trace.leave()
            return done
        place = _caller(sys._getframe(2))[2]
        if (issued.sequence, place[1]) not in self._polled:
            self._polled.add((issued.sequence, place[1]))
            sequence = self._trace.add(
                "is_completed",
                place,
                fields={"phase": self.phase, "failed_polls": 1},
                waits_for=[issued.sequence],
            )
            self._trace.change(sequence, left_ns=now_ns())
        self._trace.poll_failed()
        return done

    def _complete(self, issued: _Issued) -> None:
        """Note that an operation has come to its end, and whose message a receive got."""
        if issued.source != -3:
            source = issued.source
            if source == ANY_SOURCE:
                source = _world_rank(issued.group, issued.work._source_rank())
            self._trace.change(issued.sequence, matched_source=source, matched_tag=issued.tag)
        # An earlier wait may have given up.
        self._trace.change(issued.sequence, completed_ns=now_ns(), error=0)
        self._issued.pop(id(issued.work), None)
        self._polled.clear()


def _flat(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [each for part in value for each in _flat(part)]
    return [value]


def _first(named: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((named[name] for name in names if name in named), [])


def _group_of(named: Mapping[str, Any]) -> Any:
    """Return the group of an operation; a functional collective names it."""
    boxed = named.get("process_group")
    if isinstance(boxed, torch.ScriptObject):
        return dist.ProcessGroup.unbox(boxed)
    name = named.get("group_name")
    return _GROUP_CALLED(name) if isinstance(name, str) else name


def _number_of(group: Any) -> int:
    """Return the same number for a group on each of its ranks; 0 for the default one."""
    world: Any = dist.group.WORLD
    if group is None or group.group_name == world.group_name:
        return 0
    return 1 + zlib.crc32(group.group_name.encode())


def _world_rank(group: Any, rank: int) -> int:
    """Return the world rank of a rank of the group.

    Raises ValueError for one that is not in it, on which gloo would wait for half a minute.
    """
    size = dist.get_world_size() if group is None else group.size()
    if not 0 <= rank < size:
        raise ValueError(f"there is no rank {rank} in this group of {size} ranks")
    return rank if group is None else dist.get_global_rank(group, rank)


def _caller(frame: FrameType | None) -> tuple[str, bool, tuple[str, int]]:
    """Return how torch.distributed was called, whether it was, and from which file and line.

    The first is the outermost of torch.distributed's functions that send or receive, the last the
    innermost frame that is neither torch's nor the harness's.
    """
    called_as, is_ours = "", False
    while frame is not None:
        file = frame.f_code.co_filename
        if file == distributed_c10d.__file__:
            is_ours = True
            name = frame.f_code.co_name
            called_as = name if name in _POINT_TO_POINT else called_as
        # A probe that stands between is the caller: what it calls need not be what the student did.
        elif file.startswith(probe_modules.FILES) or not file.startswith((_LIBRARY, _OWN, "<")):
            return called_as, is_ours, (file, frame.f_lineno)
        frame = frame.f_back
    return called_as, is_ours, ("", 0)

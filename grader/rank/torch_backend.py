"""Processes of torch.distributed as the cases of a run see them: a gloo group for each case."""

import contextlib
import importlib
import os
import socket
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
import torch.multiprocessing
from torch.distributed import distributed_c10d

from .c10d import Recorder
from .toolbox import replaced
from .trace_writer import TraceWriter

ADDRESS = "127.0.0.1"
_ADDRESS_OF_NODE_0 = "127.0.0.2"
"""Also of this machine, but no address that a program would use by itself."""
_PAUSE_S = 0.005
_TCP_STORE: Any = dist.TCPStore  # type: ignore[attr-defined] # it has
_PREFIX_STORE: Any = dist.PrefixStore  # type: ignore[attr-defined] # it has
# The package has a function of this name, which hides the module.
_RENDEZVOUS: Any = importlib.import_module("torch.distributed.rendezvous")
_RANK_0_ITSELF = ("localhost", "127.0.0.1", "0.0.0.0", "::1", "::")  # noqa: S104 - nobody binds it
"""How rank 0 may call the machine that it is on."""


class Rendezvous(NamedTuple):
    """What a process is told of the others."""

    rank: int
    size: int
    host: str = ""
    port: int = 0
    """Where rank 0 would listen; both empty for a file."""

    @property
    def place(self) -> str:
        """Return where rank 0 would wait, as words."""
        return f"on port {self.port}" if self.host else "through a file"

    def assert_leads_to(self, address: str) -> None:
        """Raise RuntimeError where a node would not find rank 0, which is at this address."""
        is_here = self.host == address or (self.rank == 0 and self.host in _RANK_0_ITSELF)
        if not (is_here and self.port):
            asked = f"at {self.host}:{self.port}" if self.host else "through a file"
            raise RuntimeError(
                f"init_process_group looks for rank 0 {asked}, not at {address}:PORT"
            )


def asked_for(init_method: str | None, rank: int, size: int) -> Rendezvous:
    """Return what torch makes of these arguments of init_process_group and of the environment.

    Torch's own functions read them, but open no store. Raises what they raise, such as ValueError
    for an address without a port.
    """
    places: list[tuple[str, int]] = []

    def tcp_store(host_name: str, port: int, *_: Any, **__: Any) -> None:
        places.append((host_name, port))

    with contextlib.ExitStack() as stack:
        stack.enter_context(replaced(_RENDEZVOUS, "TCPStore", tcp_store))
        stack.enter_context(replaced(_RENDEZVOUS, "FileStore", lambda *_: None))
        _, own_rank, own_size = next(_RENDEZVOUS.rendezvous(init_method or "env://", rank, size))
    return Rendezvous(own_rank, own_size, *(places[0] if places else ()))


@dataclass(frozen=True)
class Processes:
    """What a probe is told of the processes of its case."""

    rank: int
    size: int
    address: str
    port: int
    on_operation: Callable[[Callable[[str, Sequence[torch.Tensor]], None]], None]
    """Tells a probe the name and the inputs of each c10d operation of this rank."""
    be_nodes: Callable[[], str]
    """Makes the processes nodes, known by options alone; returns the address of node 0."""


class TorchBackend:
    """The default process group, made anew for each case by us or on the student's call.

    Processes find each other through one store, whose port the kernel chooses, so that none is
    fixed and none can be taken. What is put into a store goes over the loopback, where the kernel
    counts it. Its port is in a file, which nobody finds any more when the student's code runs.
    """

    leaves_messages = False
    world = "gloo"

    def __init__(
        self,
        rank: int,
        size: int,
        port: int,
        store: str,
        trace: TraceWriter,
        *,
        kind: str,
    ) -> None:
        """store: path of a file all ranks share. kind: `torch`, `torch-script` or `standalone`."""
        self._rank, self._size, self._port, self._kind = rank, size, port, kind
        self._meeting = _Meeting(Path(store), rank, size)
        self._case = self._group = 0
        self._node_0 = ""
        """Where nodes must meet, if their command line says so; empty if it does not."""
        self._is_spawned = False
        """The program starts the processes itself, and tells them all one place to meet."""
        self._stores: list[Any] = []
        """Of the groups of this case: other ranks may need one longer than this rank."""
        self._ended_groups = EndedIdentities()
        """No later group has the identity of one that a submission remembers."""
        torch.set_num_threads(1)
        self._trace = trace
        self._recorder = Recorder(trace)
        self._recorder.start()
        if kind == "torch-script":
            self._make_group = dist.init_process_group
            for module in (dist, distributed_c10d):
                setattr(module, "init_process_group", self.init_process_group)  # noqa: B010 - a patch
            for name in ("torch.multiprocessing", "torch.multiprocessing.spawn"):
                setattr(sys.modules[name], "spawn", self.spawn)  # noqa: B010 - the same

    def begin_case(self) -> Processes | None:
        """Return the processes of a new case, with what torchrun tells by the environment."""
        self._node_0, self._is_spawned = "", False
        os.environ.update(self._told_by_torchrun())
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        if self._kind == "standalone":
            return None
        torch.set_default_dtype(torch.float32)
        self._recorder.forget()
        self._recorder.on_operation = None
        if dist.is_initialized():
            self._ended_groups.add(dist.group.WORLD)
            dist.destroy_process_group()
        self._ended_groups.take()
        self._stores.clear()
        self._case += 1
        self._group = 0
        if self._kind == "torch":
            self._make(dist.init_process_group)
        return Processes(self._rank, self._size, ADDRESS, self._port, self._observe, self._be_nodes)

    def _told_by_torchrun(self) -> dict[str, str]:
        told = {
            "RANK": self._rank,
            "LOCAL_RANK": self._rank,
            "WORLD_SIZE": self._size,
            "LOCAL_WORLD_SIZE": self._size,
            "MASTER_ADDR": ADDRESS,
            "MASTER_PORT": self._port,
        }
        return {name: str(value) for name, value in told.items()}

    def _be_nodes(self) -> str:
        for name in self._told_by_torchrun():
            os.environ.pop(name, None)
        self._node_0 = _ADDRESS_OF_NODE_0
        return self._node_0

    def _observe(self, observer: Callable[[str, Sequence[torch.Tensor]], None]) -> None:
        self._recorder.on_operation = observer

    def mark_phase(self, level: int) -> None:
        """Tell the recorder and the library below torch which phase begins."""
        self._recorder.phase = level
        self._trace.mark_phase(level)

    def progress_until_readable(self, connection: socket.socket) -> None:
        """Do nothing: gloo has threads of its own, and we keep what a submission drops."""

    def _make(
        self, make_group: Callable[..., Any], place: str | None = None, **options: Any
    ) -> None:
        """place: where a program has its processes meet; empty for a store that it gives.

        None where the places are not to be compared.
        """
        # The only network there is inside a container without one, whatever the student asks for.
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        self._group += 1
        store = self._meeting.store(f"{self._case}-{self._group}")
        self._stores.append(store)
        phase = self._recorder.phase
        self.mark_phase(2)
        try:
            if place is not None:
                self._assert_same_place(store, place)
            make_group("gloo", store=store, rank=self._rank, world_size=self._size, **options)
        finally:
            self.mark_phase(phase)

    def _assert_same_place(self, store: Any, place: str) -> None:
        """Raise RuntimeError where rank 0 waits in another place than this rank looks.

        Two files count as one place.
        """
        if self._rank == 0:
            store.set("place", place)
            return
        of_rank_0 = store.get("place").decode()
        if place and of_rank_0 and place != of_rank_0:
            raise RuntimeError(
                f"rank 0 waits {of_rank_0}, but init_process_group looks for rank 0 {place}"
            )

    def init_process_group(
        self,
        backend: str | None = None,
        init_method: str | None = None,
        timeout: Any = None,
        world_size: int = -1,
        rank: int = -1,
        store: Any = None,
        **options: Any,
    ) -> None:
        """Stand in for torch's own: the group of this case, whatever port was asked for.

        Raises what torch's own would raise, and RuntimeError where it would wait for ever, naming
        what does not fit.
        """
        named = str(backend).lower().rpartition(":")[2] if backend else "gloo"
        if named not in ("gloo", "undefined"):
            raise RuntimeError(
                f"init_process_group(backend={backend!r}): only 'gloo' works here, because the "
                "grader has no GPU"
            )
        place = ""
        if store is None:
            asked = asked_for(init_method, rank, world_size)
            rank, world_size = asked.rank, asked.size
            # Each rank runs what one parent would: a port drawn there is another one in each.
            place = "" if self._is_spawned else asked.place
            if self._node_0:
                asked.assert_leads_to(self._node_0)
        for word, given, own in (
            ("world_size", world_size, self._size),
            ("rank", rank, self._rank),
        ):
            if given not in (-1, own):
                raise RuntimeError(
                    f"init_process_group({word}={given}) on rank {self._rank} of {self._size}: "
                    f"expected {word}={own}, as on the command line and in the environment"
                )
        options.pop("device_id", None)
        if timeout is not None:
            options["timeout"] = timeout
        self._make(self._make_group, place, **options)

    def spawn(
        self,
        fn: Callable[..., Any],
        args: tuple[Any, ...] = (),
        nprocs: int = 1,
        join: bool = True,
        daemon: bool = False,
        start_method: str = "spawn",
    ) -> None:
        """Stand in for torch.multiprocessing.spawn: the ranks are the processes it would start.

        Raises RuntimeError when it would start another number of them.
        """
        if nprocs != self._size:
            raise RuntimeError(
                f"torch.multiprocessing.spawn(nprocs={nprocs}): expected nprocs={self._size}"
            )
        self._node_0 = ""  # all on this machine
        self._is_spawned = True
        fn(self._rank, *args)


class _Meeting:
    """The store over the loopback that rank 0 keeps for the whole run."""

    def __init__(self, file: Path, rank: int, size: int) -> None:
        """file: tells the others the port."""
        self._size = size
        if rank:
            while not file.exists():
                time.sleep(_PAUSE_S)
            self._port = int(file.read_text())
            return
        with socket.create_server((ADDRESS, 0), backlog=size) as listener:
            self._port, descriptor = listener.getsockname()[1], os.dup(listener.fileno())
        self._server = _TCP_STORE(
            ADDRESS, self._port, size, True, wait_for_workers=False, master_listen_fd=descriptor
        )
        written = file.with_suffix(".new")
        written.write_text(str(self._port))
        written.rename(file)

    def store(self, name: str) -> Any:
        """Return a store of this name, over a connection of its own, which no other name shares."""
        client = _TCP_STORE(ADDRESS, self._port, self._size, False, wait_for_workers=False)
        return _PREFIX_STORE(name, client)


_NUM_ATTEMPTS = 10_000
"""Free places for objects of one size may be many. To fill these takes a millisecond."""
_EMPTY_NUM_BYTES = sys.getsizeof(b"")
_IS_COLLECTED = 1 << 14
"""Py_TPFLAGS_HAVE_GC: objects of such a type begin in front of their address."""


class EndedIdentities:
    """Identities that no later object may have.

    CPython's `id` is an address, which the next object of the same size may get. Whoever remembers
    a process group by its identity would then find one that was destroyed.
    """

    def __init__(self) -> None:
        self._open: dict[int, set[int]] = defaultdict(set)
        """Of objects that may still be there, by their size in bytes."""
        self._taken: list[object] = []

    def add(self, ended: object) -> None:
        """Remember an object that its owners are about to let go of.

        One that the collector looks after is kept: nothing simple can lie where it was. A process
        group of torch is none of these, but a submission may have put something in its place.
        """
        if type(ended).__flags__ & _IS_COLLECTED:
            self._taken.append(ended)
        else:
            self._open[sys.getsizeof(ended)].add(id(ended))

    def take(self) -> None:
        """Have something else lie where remembered objects were, as far as they have gone."""
        for num_bytes in self._open:
            self._take(num_bytes)

    def _take(self, num_bytes: int) -> None:
        # First of all: what else is made here may be of that size, and lie in the place meanwhile.
        made = [bytes(max(1, num_bytes - _EMPTY_NUM_BYTES)) for _ in range(_NUM_ATTEMPTS)]
        taken = [each for each in made if id(each) in self._open[num_bytes]]
        self._open[num_bytes].difference_update(map(id, taken))
        self._taken += taken

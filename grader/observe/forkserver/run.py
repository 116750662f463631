"""One run in the forkserver: its mpirun, its placeholders, and the ranks forked in their place."""

import contextlib
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from . import loopback
from .confinement import Sealed, confine
from .control_group import ControlGroup
from .memory import MemoryOfDescendants
from .mpirun_placeholders import PlaceholderRegistry
from .process_census import ProcessCensus
from .processes import descendants, handles, is_running
from .run_queue_delay import RunQueueDelay
from .run_users import RunUsers, make_folders
from .student_confinement import confine_student, make_shared_folders
from .supervisor import RunSupervisor, SupervisedRun, end_sealed, end_unsealed
from .system_calls import SystemCallFilter

_MAX_LOG_NUM_BYTES = 4000
_WORTH_TELLING_S = 0.05
_CENSUS = "GRADER_CENSUS"
"""The variable that tells a rank where its processes may show themselves."""
_CENSUS_SOCKET = "census.sock"
_STACK_DUMP_S = 0.05
RankMain = Callable[[str, int, Callable[..., Any]], None]


@dataclass(frozen=True)
class Order:
    """What the judge asks for."""

    folder: str
    uid: int | None
    ranks: int
    memory_num_bytes: int
    """What all processes together may add."""
    rank_memory_num_bytes: int
    output_num_bytes: int
    """What processes may print that are no ranks, among them mpirun."""
    mpirun: list[str] | None
    """The command that starts the placeholders; None to fork the ranks at once."""
    probes: dict[str, str]
    """The text of each module that the ranks will be told to run."""
    environment: dict[str, str]


class Run:
    """The processes of one run, forked from this one."""

    def __init__(
        self,
        order: Order,
        rank_main: RankMain,
        system_calls: SystemCallFilter | None,
    ) -> None:
        """rank_main: what a rank does, given the judge's socket, its number and what confines it.

        system_calls: what a run of a user of its own is filtered by; None if there is none.
        """
        self._order = order
        self._rank_main = rank_main
        self._folder = Path(order.folder)
        # In memory: a file in the run's folder would be the student's to fill.
        self._log = os.memfd_create("log")
        self._pids: dict[int, int] = {}
        """Process of each rank that has not ended."""
        self._placeholders: PlaceholderRegistry | None = None
        self._mpirun = -1
        self._has_told_excess = False
        self._supervisor: RunSupervisor | None = None
        self._sealed: Sealed | None = None
        group = ControlGroup()
        if order.uid is not None:
            assert system_calls is not None
            users = RunUsers.of_run(order.uid, order.ranks)
            self._sealed = Sealed(users, system_calls)
            make_folders(users, self._folder / "scratch")
            group = ControlGroup.own()
            self._supervised = SupervisedRun(
                users,
                self._folder / "scratch",
                order.memory_num_bytes,
                group,
                judge=os.getppid(),
            )
            self._supervisor = RunSupervisor(self._supervised)
        self._run_queue_delay = RunQueueDelay(len(os.sched_getaffinity(0)))
        self._told_delay_s = 0.0
        # Ranks that have others would see each other wait there.
        self._census = ProcessCensus(
            self._folder / _CENSUS_SOCKET, self._uids, is_open=order.ranks == 1
        )
        self._memory = MemoryOfDescendants(order.memory_num_bytes) if group.memory < 0 else None
        if order.mpirun is None:
            for rank in range(order.ranks):
                self._fork_rank(rank, {})
        else:
            self._start_mpirun(order.mpirun)

    @property
    def _uid(self) -> int:
        return os.getuid() if self._order.uid is None else self._order.uid

    @property
    def _uids(self) -> tuple[int, ...]:
        return (self._uid,) if self._sealed is None else self._sealed.users.all

    def _start_mpirun(self, command: list[str]) -> None:
        installed = Path(command[0]).resolve().parent.parent
        # Where the command was found, and where it really is, may be two places.
        folders = (self._folder, installed, Path(command[0]).parent.parent)
        self._placeholders = PlaceholderRegistry(
            self._folder / "placeholders.sock", self._order.ranks, self._uid, folders
        )
        self._mpirun = self._fork(lambda: os.execvp(command[0], command), {})  # noqa: S606 - ours
        self._placeholders.mpirun = self._mpirun

    def _fork(
        self, act: Callable[[], object], environment: dict[str, str], rank: int | None = None
    ) -> int:
        """Return the pid of a new process of the run, which does `act`."""
        order, parent = self._order, os.getpid()
        pid = os.fork()
        if pid:
            return pid
        try:
            confine(self._sealed, order.rank_memory_num_bytes, self._log, parent, rank)
            os.environ.clear()
            os.environ.update({**order.environment, **environment})
            os.chdir(self._folder / "scratch")
            act()
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(127)

    def _fork_rank(self, rank: int, environment: dict[str, str]) -> None:
        def be_rank() -> None:
            # Processes started one by one would not share the state of their random numbers.
            random.seed()
            if "numpy" in sys.modules:
                sys.modules["numpy"].random.seed()
            sys.argv[:] = [""]
            # Processes that a student starts are not to import ours again.
            sys.modules["__main__"] = ModuleType("__main__")
            make_shared_folders(self._folder)
            confine = partial(confine_student, self._sealed, self._folder, rank)
            self._rank_main(f"{self._order.folder}/judge.sock", rank, confine)

        census = {_CENSUS: f"{self._order.folder}/{_CENSUS_SOCKET}"}
        own = rank if self._order.ranks > 1 else None
        self._pids[rank] = self._fork(be_rank, {**environment, **census}, own)

    @property
    def sources(self) -> list[Any]:
        """Return what to call `poll` for when it can be read."""
        placeholders = self._placeholders.sources if self._placeholders is not None else []
        supervisor = [self._supervisor.connection] if self._supervisor is not None else []
        return [*placeholders, *supervisor, self._census.listener]

    def poll(self) -> list[dict[str, Any]]:
        """Do what there is to do, a few times a second at least; return what the judge is told."""
        told = [*self._excess(), *self._delay()]
        self._census.count_waiting()
        # A run that is being killed starts no more ranks.
        if self._placeholders is not None and not self._has_told_excess:
            for rank, environment in self._placeholders.poll():
                self._fork_rank(rank, environment)
        return told

    def _excess(self) -> Iterator[dict[str, Any]]:
        """Yield, once, what the run has used too much of."""
        if self._has_told_excess:
            return
        for message in self._supervisor.said() if self._supervisor is not None else ():
            self._has_told_excess = True
            yield message
        printed = os.fstat(self._log).st_size
        for kind, used, allowed in (
            ("output", printed, self._order.output_num_bytes),
            ("memory", self._used_memory(), self._order.memory_num_bytes),
        ):
            if used > allowed and not self._has_told_excess:
                self._has_told_excess = True
                yield {"excess": {"kind": kind, "used": used, "allowed": allowed}}

    def _delay(self) -> Iterator[dict[str, Any]]:
        """Yield for how long, in all, the machine has kept the run waiting, when that has grown."""
        if (
            self._run_queue_delay.is_due
            and self.run_queue_delay_s() - self._told_delay_s > _WORTH_TELLING_S
        ):
            self._told_delay_s = self._run_queue_delay.total_s
            yield {"run_queue_delay": self._run_queue_delay.total_s}

    def run_queue_delay_s(self) -> float:
        """Return for how long, up to now, the machine has kept the run waiting."""
        supervisor = self._supervisor.pid if self._supervisor is not None else -1
        pids = descendants(os.getpid(), with_ended=True)
        self._run_queue_delay.look([pid for pid in pids if pid != supervisor])
        return self._run_queue_delay.total_s

    def _used_memory(self) -> int:
        return (self._memory and self._memory.excess_num_bytes()) or 0

    def ended(self, pid: int, status: int) -> dict[str, Any] | None:
        """Return what the judge is told of the end of a process; tell its placeholder as well."""
        code = os.waitstatus_to_exitcode(status)
        if pid == self._mpirun:
            return {"mpirun": code}
        if self._supervisor is not None and pid == self._supervisor.pid:
            self._supervisor.shut_down()
            self._supervisor = None
            return {"lost": f"the run's supervisor ended with status {code}"}
        rank = next((rank for rank, each in self._pids.items() if each == pid), None)
        if rank is None:
            return None
        del self._pids[rank]
        if self._placeholders is not None:
            self._placeholders.tell(rank, code)
        return {"rank": rank, "status": code, "left": len(self._pids)}

    def dump_stacks(self, ranks: list[int]) -> None:
        """Have these ranks, as far as they live, write where they are.

        Of one that does not compute, processes that it has forked and that do write so after it.
        """
        pids = [self._pids[rank] for rank in ranks if rank in self._pids]
        forked = [child for pid in pids if not is_running(pid) for child in _computing(pid)]
        for pid in pids:
            _dump(pid)
        if forked:
            time.sleep(_STACK_DUMP_S)
        for pid in forked:
            _dump(pid)

    def census(self) -> dict[str, Any]:
        """Return which processes have connected since this was last asked."""
        return self._census.drain()

    def carried_num_bytes(self) -> int | None:
        """Return what has gone over the loopback; None where it need not be this run's."""
        return loopback.carried_num_bytes() if self._sealed is not None else None

    def log(self) -> str:
        """Return the end of what mpirun and others that are no ranks have printed."""
        start = max(0, os.fstat(self._log).st_size - _MAX_LOG_NUM_BYTES)
        return os.pread(self._log, _MAX_LOG_NUM_BYTES, start).decode(errors="replace").strip()

    def end(self) -> bool:
        """End every process of the run and remove its folder; return whether all could be removed.

        Raises OSError when a process would not end.
        """
        os.close(self._log)
        self._census.close()
        if self._placeholders is not None:
            self._placeholders.close()
        if self._sealed is None:
            end_unsealed(self._folder)
            return True
        return end_sealed(self._supervisor, self._supervised, self._folder)


def _computing(ancestor: int) -> list[int]:
    """Return which processes below this one compute, and can say where."""
    return [
        pid for pid in descendants(ancestor) if is_running(pid) and handles(pid, signal.SIGUSR1)
    ]


def _dump(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGUSR1)

"""Lets a process spawn others where the kernel starts no program: two wait for it beforehand.

multiprocessing starts a Python for each process that is spawned, and another one that remembers
what they share. Here both are forked before the submission's first line: what spawns is the server
of the start method `forkserver`, which has seen nothing of the submission either.
"""

import _posixsubprocess
import errno
import os
import socket
import sys
from collections.abc import Callable
from multiprocessing import forkserver, popen_forkserver, popen_spawn_posix, resource_tracker, util
from typing import Any, NoReturn


def tell_of_no_programs() -> None:
    """Have Python and torch know that the kernel starts no program any more."""
    util.spawnv_passfds = _refuse_program  # type: ignore[assignment]
    _posixsubprocess.fork_exec = lambda words, *_: _refuse_program(words[0])
    torch: Any = sys.modules.get("torch.multiprocessing")
    if torch is not None:
        # What tears shared tensors down is a program, but where they are shared by descriptors:
        # that is done for whoever asks for the other way, too.
        torch.set_sharing_strategy = lambda strategy: None


def _refuse_program(path: bytes | str, *_: object) -> NoReturn:
    """Tell what the kernel refuses; otherwise the process would end without a word."""
    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), os.fsdecode(path))


def spawn_without_programs(connection: int) -> None:
    """Start what waits; from now on multiprocessing spawns by it, as do all that it starts.

    connection: a descriptor that is for this process only.
    """
    tracker = _pipe_to(lambda end: resource_tracker.main(end), connection)
    resource_tracker._resource_tracker._fd = tracker  # type: ignore[attr-defined]
    # First: what is spawned may spawn as well. It would not know that a server runs.
    popen_spawn_posix.Popen = popen_forkserver.Popen  # type: ignore[misc, assignment]
    server: Any = forkserver._forkserver
    server.ensure_running = forkserver.ensure_running = resource_tracker.ensure_running
    with socket.socket(socket.AF_UNIX) as listener:
        # The kernel chooses a name that nobody has.
        listener.bind("")
        listener.listen()
        server._forkserver_address = listener.getsockname()
        server._forkserver_alive_fd = _pipe_to(
            lambda end: _serve(os.dup(listener.fileno()), end), connection
        )


def _serve(listener: int, alive: int) -> None:
    if "numpy" in sys.modules:
        # Processes that are spawned would not share the state of their random numbers.
        os.register_at_fork(after_in_child=sys.modules["numpy"].random.seed)
    forkserver.main(listener, alive, [])


def _pipe_to(act: Callable[[int], object], connection: int) -> int:
    """Have a process do `act` with the end of a pipe; return the other end, which it waits for.

    It is nobody's child: whoever waits for all of their children waits for their own.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(reader)
        os.waitpid(child, 0)
        return writer
    try:
        if os.fork() == 0:
            os.close(writer)
            os.close(connection)
            act(reader)
    finally:
        os._exit(0)

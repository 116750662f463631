import multiprocessing
import os
import sys
from multiprocessing import util

PROGRAM = "import ctypes, os; ctypes.CDLL(None).getpid(); open('reached', 'w').close()"


def by_the_pools_way():
    child = util.spawnv_passfds(os.fsencode(sys.executable), [sys.executable, "-I", "-S", "-c", PROGRAM], [])
    os.waitpid(child, 0)


def by_another_executable():
    """Have multiprocessing spawn with what is not this Python."""
    with open("python", "w") as file:
        file.write(f"#!{sys.executable} -IS\n{PROGRAM}\n")
    os.chmod("python", 0o700)
    multiprocessing.set_executable(os.path.abspath("python"))
    process = multiprocessing.get_context("spawn").Process(target=print, args=("spawned",))
    process.start()
    process.join()


def in_its_place():
    child = os.fork()
    if child == 0:
        try:
            os.posix_spawn(sys.executable, [sys.executable, "-I", "-S", "-c", PROGRAM], {})
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def hogwild(model, dataset, *, num_processes, epochs, lr, batch_size, seed):
    for door in (by_the_pools_way, by_another_executable, in_its_place):
        try:
            door()
        except OSError as error:
            print(door.__name__, error)
        if os.path.exists("reached"):
            raise ValueError(f"BREACH {door.__name__}")
    raise ValueError("carried out")

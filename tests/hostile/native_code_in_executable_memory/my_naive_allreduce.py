import mmap
import os
import tempfile

RUN = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
RETURNS = b"\xb8\x07\0\0\0\xc3"


def anonymous():
    return mmap.mmap(-1, mmap.PAGESIZE, prot=RUN)


def shared():
    return mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS, prot=RUN)


def of_a_file():
    with tempfile.TemporaryFile() as file:
        file.write(RETURNS.ljust(mmap.PAGESIZE, b"\x90"))
        file.flush()
        return mmap.mmap(file.fileno(), mmap.PAGESIZE, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)


def of_memory():
    file = os.memfd_create("code")
    os.write(file, RETURNS.ljust(mmap.PAGESIZE, b"\x90"))
    return mmap.mmap(file, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_EXEC)


def by_another_name():
    class Memory(mmap.mmap):
        pass

    return Memory.__new__(Memory, -1, mmap.PAGESIZE, prot=RUN)


def allreduce(send, recv, comm, op):
    recv[...] = 0
    hit = []
    for way in (anonymous, shared, of_a_file, of_memory, by_another_name):
        try:
            way()
            hit.append(way.__name__)
        except Exception as error:
            print(way.__name__, type(error).__name__, error)
    raise ValueError(f"BREACH {hit}" if hit else "carried out")

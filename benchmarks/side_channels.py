"""How many bits per second two confined ranks can pass each other beside what connects them.

    python benchmarks/side_channels.py

Both ranks are in a real container, confined as in a grading but without the guard, in the world of
gloo, which leaves open most. One sends drawn bits in slots of time; what the other reads of them
gives the rate: what a channel with as many errors can carry. The shortest slot that still works is
looked for. Each is a lower bound: somebody may think of a better code.

Last, in the world of MPI, the memory that Open MPI shares: both find a message that one has sent,
by trying which addresses can be read, and go on writing where it lay.
"""

import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "container")]

from test_confinement import order, runs  # noqa: E402 - beside the tests

SOURCE = '''
import ctypes, json, math, mmap, os, random, socket, statistics, threading, time
from pathlib import Path
import numpy as np
import torch.distributed as dist

NUM_BITS = 100
SLOTS_MS = (1, 3, 10, 30, 100)
pids = [None, None]
PORTS = range(40000, 40032)
syscall = ctypes.CDLL(None).syscall
FUTEX, WAIT, WAKE = 202, 0, 1

class Inodes:
    """Numbers of new files in the memory that all folders lie in."""
    width = 1
    def make(self):
        file = os.open("probe", os.O_CREAT | os.O_RDWR)
        number = os.fstat(file).st_ino
        os.close(file)
        os.unlink("probe")
        return number
    def send(self, bits):
        if bits[0]:
            for _ in range(3):
                self.make()
    def begin(self):
        self.first = self.make()
    def read(self):
        return [self.make() > self.first + 1]

class Processes(Inodes):
    """Numbers of new processes."""
    def make(self):
        pid = os.fork()
        if not pid:
            os._exit(0)
        os.waitpid(pid, 0)
        return pid

class Ports:
    """Which ports of TCP are taken: 32 bits at once."""
    width = len(PORTS)
    taken = ()
    def send(self, bits):
        self.end()
        self.taken = [self.listen(port) for port, bit in zip(PORTS, bits) if bit]
    def end(self):
        for each in self.taken:
            each and each.close()
    def listen(self, port):
        made = socket.socket()
        try:
            made.bind(("127.0.0.1", port))
            return made
        except OSError:
            made.close()
    def begin(self):
        pass
    def read(self):
        found = [self.listen(port) for port in PORTS]
        for each in found:
            each and each.close()
        return [each is None for each in found]

class Descriptors:
    """How many files the other has open, which its folder in /proc tells by its size."""
    width = 8
    taken = ()
    def send(self, bits):
        self.end()
        number = sum(bit << place for place, bit in enumerate(bits))
        self.taken = [os.dup(0) for _ in range(number)]
    def end(self):
        for each in self.taken:
            os.close(each)
    def begin(self):
        if not hasattr(self, "before"):
            raise RuntimeError("nobody has counted before")
    def count(self):
        return os.stat(f"/proc/{pids[0]}/fd").st_size
    def read(self):
        number = self.count() - self.before
        return [bool(number >> place & 1) for place in range(self.width)]

class Futexes:
    """Who waits at a place of a file that both may read, and no more."""
    width = 1
    def __init__(self):
        file = open(Path.cwd().parents[2] / "submission" / "work.py", "rb")
        self.file = file
        libc = ctypes.CDLL(None)
        libc.mmap.restype = ctypes.c_void_p
        self.at = libc.mmap(None, ctypes.c_size_t(4096), 1, 1, file.fileno(), ctypes.c_long(0))
        self.value = int.from_bytes(file.read(4), "little")
    def send(self, bits):
        if bits[0]:
            limit, value = (ctypes.c_long * 2)(0, int(self.slot_s * 7e8)), ctypes.c_uint(self.value)
            syscall(FUTEX, ctypes.c_void_p(self.at), WAIT, value, limit, None, 0)
    def begin(self):
        time.sleep(self.slot_s * 0.3)
    def read(self):
        return [syscall(FUTEX, ctypes.c_void_p(self.at), WAKE, 1, None, None, 0) > 0]

class Space:
    """Space in the memory that all folders lie in: one has taken all of it but a little."""
    width = 1
    LITTLE, PIECE = 64 << 10, 16 << 20
    holds = False
    def take(self, name, num_bytes):
        file = os.open(name, os.O_CREAT | os.O_WRONLY)
        try:
            os.posix_fallocate(file, 0, num_bytes)
            return True
        except OSError:
            os.unlink(name)
            return False
        finally:
            os.close(file)
    def prepare(self):
        number, num_bytes = 0, self.PIECE
        while num_bytes >= self.LITTLE:
            if self.take(f"rest{number}", num_bytes):
                number += 1
            else:
                num_bytes //= 2
        # The smallest of them goes to and fro.
        os.unlink(f"rest{number - 1}")
    def send(self, bits):
        if bits[0] != self.holds:
            if bits[0]:
                self.take("little", self.LITTLE)
            else:
                os.unlink("little")
            self.holds = bits[0]
    def end(self):
        for name in os.listdir():
            if name.startswith(("rest", "little")):
                os.unlink(name)
    def begin(self):
        pass
    def read(self):
        is_free = self.take("probe", self.LITTLE)
        if is_free:
            os.unlink("probe")
        return [not is_free]

class Timed:
    """How long work takes while the other works, or does not: longer than most is a one."""
    width = 1
    NUM_THREADS = os.cpu_count()
    def send(self, bits):
        if bits[0]:
            until = time.monotonic() + 0.7 * self.slot_s
            workers = [
                threading.Thread(target=self.work_until, args=(until,))
                for _ in range(self.NUM_THREADS)
            ]
            for each in workers:
                each.start()
            for each in workers:
                each.join()
    def work_until(self, moment):
        number = 0
        while time.monotonic() < moment:
            self.work()
            number += 1
        return number
    def begin(self):
        self.number = self.work_until(time.monotonic() + 0.5 * self.slot_s)
    def read(self):
        return [-self.number]

class Processor(Timed):
    """Time of the processors."""
    def __init__(self):
        self.numbers = np.ones(2000)
    def work(self):
        np.sqrt(self.numbers, out=self.numbers)

class Memory(Timed):
    """Time of the memory and its caches."""
    NUM_THREADS = 1
    def __init__(self):
        self.numbers = np.ones(1 << 18)
    def work(self):
        self.numbers += 1

def wait_until(moment):
    while (left := moment - time.monotonic()) > 0:
        if left > 0.001:
            time.sleep(left - 0.0005)

def run(channel, rank, slot_s):
    """Return which bits arrived, on rank 1."""
    channel.slot_s = slot_s
    draw = random.Random(7)
    num_slots = max(20, NUM_BITS // channel.width)
    sent = [[draw.random() < 0.5 for _ in range(channel.width)] for _ in range(num_slots)]
    if isinstance(channel, Descriptors) and rank:
        channel.before = channel.count()
    if isinstance(channel, Space) and not rank:
        channel.prepare()
    told = [time.monotonic() + 0.3]
    dist.broadcast_object_list(told, 0)
    got = []
    for number, bits in enumerate(sent):
        start = told[0] + number * slot_s
        wait_until(start + (0.1 * slot_s if rank == 0 else 0))
        if rank == 0:
            channel.send(bits)
        else:
            channel.begin()
            if not isinstance(channel, Futexes):
                wait_until(start + 0.8 * slot_s)
            got.append(channel.read())
    if isinstance(channel, Timed) and rank:
        usual = statistics.median(each for (each,) in got)
        got = [[each > usual] for (each,) in got]
    if rank == 0 and hasattr(channel, "end"):
        wait_until(told[0] + num_slots * slot_s)
        channel.end()
    pairs = [pair for each in zip(sent, got) for pair in zip(*each)]
    return sum(a != b for a, b in pairs) / max(len(pairs), 1)

def rate(wrong, bits_per_s):
    wrong = min(wrong, 0.5)
    if wrong in (0, 0.5):
        return bits_per_s * (1 if wrong == 0 else 0)
    return bits_per_s * (1 + wrong * math.log2(wrong) + (1 - wrong) * math.log2(1 - wrong))

def go(comm):
    rank = dist.get_rank()
    dist.all_gather_object(pids, os.getpid())
    best = {}
    kinds = (Inodes, Processes, Ports, Descriptors, Futexes, Space, Processor, Memory)
    for kind in kinds:
        for slot_ms in SLOTS_MS:
            wrong = [run(kind(), rank, slot_ms / 1000)]
            dist.broadcast_object_list(wrong, 1)
            found = rate(wrong[0], kind.width * 1000 / slot_ms)
            best[kind.__name__] = max(best.get(kind.__name__, 0), found)
            if rank == 0:
                print(kind.__name__, slot_ms, wrong, flush=True)
    if rank == 0:
        print(json.dumps(best), flush=True)
    return 7
'''


SEGMENT = '''
import ctypes, json, mmap, os, random, time
import numpy as np

TEXT = random.Random(7).randbytes(3000)
START, END = 1000, 2900
"""Of the text: before it MPI writes its later messages, which are short."""
PAGE, AROUND = 4096, 1 << 30
SECONDS = 2.0

def read(address, number):
    return (ctypes.c_char * number).from_address(address)

def found(text):
    """Return where the text is in our memory, not far from what was mapped last."""
    near = ctypes.addressof(ctypes.c_char.from_buffer(mmap.mmap(-1, 1 << 22))) // PAGE * PAGE
    addresses = []
    with open("probe", "wb") as probe:
        for address in range(near - AROUND, near + AROUND, PAGE):
            page = read(address, PAGE)
            try:
                os.pwrite(probe.fileno(), page, 0)
            except OSError:
                continue
            at = page.raw.find(text)
            if at >= 0:
                addresses.append(address + at)
    return addresses

def segment(comm):
    """Return the address of bytes that both ranks have; None if there are none."""
    if comm.rank == 0:
        comm.Send(np.frombuffer(TEXT, np.uint8), 1)
    else:
        comm.Recv(np.empty(len(TEXT), np.uint8), 0)
    addresses = found(TEXT[START : START + 64])
    if comm.rank == 0:
        for number, address in enumerate(addresses):
            read(address, 8)[:] = number.to_bytes(8, "little")
    comm.Barrier()
    seen = {int.from_bytes(read(each, 8)[:], "little"): each for each in addresses}
    shared = comm.bcast([each for each in seen if each < 1000][:1], 1)
    if not shared:
        return None
    return addresses[shared[0]] if comm.rank == 0 else seen[shared[0]]

def go(comm):
    address = segment(comm)
    assert address, "no memory that both have was found"
    shared = np.frombuffer(read(address, (END - START) // 8 * 8), np.int64)
    sent, taken, payload = shared[:1], shared[8:9], shared[16:]
    comm.Barrier()
    until, number, wrong = time.monotonic() + SECONDS, 0, 0
    if comm.rank == 0:
        sent[0] = taken[0] = 0
    comm.Barrier()
    while time.monotonic() < until:
        if comm.rank == 0 and taken[0] == number:
            number += 1
            payload[:] = number
            sent[0] = number
        elif comm.rank == 1 and sent[0] == number + 1:
            number += 1
            wrong += int((payload.copy() != number).sum())
            taken[0] = number
    if comm.rank == 1:
        print(json.dumps([number * payload.nbytes * 8 / SECONDS, wrong]), flush=True)
    comm.Barrier()
    return 7
'''


def main() -> None:
    """Print a line for each channel."""
    (answer,) = runs(
        order(SOURCE, ranks=2, backend="torch", confined=True, case_s=400), modules=["torch"]
    )
    if answer["verdict"]:
        sys.exit("\n".join([answer["message"], *answer["printed"]]))
    found = json.loads(answer["printed"][0].splitlines()[-1])
    print(f"on {os.cpu_count()} processors, of which others take {os.getloadavg()[0]:.0f}")
    for name, bits_per_s in found.items():
        print(f"{name:12} {bits_per_s:12.0f} bits per second")
    (answer,) = runs(order(SEGMENT, ranks=2, backend="mpi", confined=True, case_s=60))
    if answer["verdict"]:
        sys.exit("\n".join([answer["message"], *answer["printed"]]))
    bits_per_s, wrong = json.loads(answer["printed"][1].splitlines()[-1])
    print(f"{'Segment':12} {bits_per_s:12.0f} bits per second, {wrong} numbers wrong")


if __name__ == "__main__":
    main()

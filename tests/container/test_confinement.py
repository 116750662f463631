"""What holds a run in the container: each limit is broken by a small submission, in a real Docker.

Needs the image that `make image` builds. Without a Docker daemon these tests are skipped, but not
where CI=true: there a skipped container test is a failure.
"""

import json
import os
import subprocess
import textwrap
from pathlib import Path

import pytest
from this_checkout import IMAGE, ROOT

pytestmark = pytest.mark.usefixtures("engine")
LIMIT_S = 900
HARDENED = (
    *("--network", "none", "--init", "--read-only", "--shm-size", "256m"),
    *("--tmpfs", "/tmp:rw,nosuid,nodev,noexec,size=64m,nr_inodes=4096,mode=1777"),
    *("--cap-drop", "ALL", "--cap-add", "SETUID", "--cap-add", "SETGID", "--cap-add", "KILL"),
    *("--security-opt", "no-new-privileges"),
)
LIMITED = ("--pids-limit", "512", "--memory", "4g", "--memory-swap", "4g")
# Runs one submission after the other, each as a user of its own, as the judge in the image does.
# Without the guard, which would refuse by name much of what the kernel is to refuse here.
DRIVER = """
import json, os, signal, sys, threading, time
sys.path[:0] = ["/opt/grader", "/helpers"]
from launching import case, observe
from grader.judge.explanation.launch_result import explain
from grader.model.report import RunFailure
from grader.observe.run_control.forkserver_client import ForkserverClient
from grader.recording.launch_plan import Limits
from grader.observe.run_control.users import run_uids
from grader.observe.forkserver.processes import descendants
from grader.observe.forkserver.run_users import NUMBERS_PER_RUN

def kill_once(server, whom):
    time.sleep(1.0)
    forkserver = server._forkserver.process.pid
    supervisors = [pid for pid in descendants(forkserver) if os.getuid() in uids_of(pid)]
    os.kill(forkserver if whom == "forkserver" else supervisors[0], signal.SIGKILL)

def uids_of(pid):
    with open(f"/proc/{pid}/status") as status:
        return [int(word) for line in status if line[:4] == "Uid:" for word in line.split()[1:]]

uids = run_uids()
modules = json.loads(sys.argv[1])
answers = []
with ForkserverClient(modules) as server:
    for order in json.load(sys.stdin):
        if "kill" in order:
            threading.Thread(target=kill_once, args=(server, order["kill"]), daemon=True).start()
        uid, ranks = next(uids), order["ranks"]
        plan, observed = observe(
            order["source"], ranks=ranks, uid=uid,
            cases=(case(ranks=ranks, probe=order.get("probe", "call")),), server=server,
            backend=order["backend"], limits=Limits(case_s=order["case_s"]), guarded=False,
            confined=order.get("confined", False), windows=order.get("windows", False),
            standalone=order.get("standalone", False),
        )
        launched = explain(plan, observed)
        failure = launched.failure
        answers.append({
            "verdict": failure.verdict.name if failure else "",
            "message": failure.message if failure else "",
            "values": [] if failure else [float(each) for each in launched.outcomes[0]["value"]],
            "printed": list(observed.output_tails),
            "alive": [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
                      if set(range(uid, uid + NUMBERS_PER_RUN)) & set(uids_of(pid))],
            "left": [path + "/" + name for path in ("/dev/shm", "/tmp", "/var/tmp", "/run/lock")
                     for name in os.listdir(path)
                     if os.lstat(path + "/" + name).st_uid or name.startswith("grader-")],
        })
print(json.dumps(answers))
"""
HONEST = "def go(comm): return 7"


def sources():
    """Return the mounts that put changed sources over the image's: see tests/hostile/README.md."""
    over = os.environ.get("GRADER_SOURCE_OVER_IMAGE")
    if not over:
        return []
    places = {"grader": "/opt/grader/grader", "interposer.so": "/opt/interposer/interposer.so"}
    found = {Path(over).resolve() / name: target for name, target in places.items()}
    mounted = [f"{source}:{target}:ro" for source, target in found.items() if source.exists()]
    return [word for each in mounted for word in ("-v", each)]


def order(source, *, ranks=1, backend="none", case_s=60, **more):
    return {
        "source": textwrap.dedent(source),
        "ranks": ranks,
        "backend": backend,
        "case_s": case_s,
        **more,
    }


def runs(*orders, flags=LIMITED, modules=()):
    """Return what came of each run, one after the other in one container."""
    helpers = ROOT / "tests" / "unit" / "observe" / "run_control" / "launching.py"
    done = subprocess.run(
        [
            *("docker", "run", "--rm", "-i", *HARDENED, *flags),
            *("-v", f"{helpers}:/helpers/launching.py:ro"),
            *sources(),
            *(
                "--entrypoint",
                "/opt/venv/bin/python",
                IMAGE,
                "-I",
                "-c",
                DRIVER,
                json.dumps(modules),
            ),
        ],
        input=json.dumps(orders),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    for answer in answers:
        assert answer["alive"] == [] and answer["left"] == [], answer
    return answers


def test_a_rank_is_somebody_else_with_nothing_in_its_hands():
    """User, groups, capabilities, descriptors, environment, mask and session of a rank."""
    source = """
        import json, os
        def go(comm):
            with open("/proc/self/status") as status:
                said = dict(line.split(":", 1) for line in status)
            names = ("Uid", "Gid", "Groups", "CapEff", "CapPrm", "NoNewPrivs", "Seccomp", "Umask")
            told = {name: said[name].split() for name in names}
            told["leads session"] = os.getsid(0) == os.getpid()
            told["open"] = []
            for fd in os.listdir("/proc/self/fd"):
                try:
                    told["open"].append(os.readlink(f"/proc/self/fd/{fd}").split(":")[0])
                except FileNotFoundError:
                    pass  # what listed the folder
            told["environment"] = sorted(os.environ)
            print(json.dumps(told))
        """
    first, second = runs(order(source), order(source))
    assert first["verdict"] == second["verdict"] == "", first
    told, other = json.loads(first["printed"][0]), json.loads(second["printed"][0])
    assert len({*told["Uid"], *told["Gid"]}) == 1 and int(told["Uid"][0]) >= 1000
    assert told["Uid"] != other["Uid"]
    assert told["Groups"] == []
    assert {int(told[name][0], 16) for name in ("CapEff", "CapPrm")} == {0}
    assert (told["NoNewPrivs"], told["Seccomp"], told["Umask"]) == (["1"], ["2"], ["0077"])
    assert told["leads session"]
    # Nothing, what it prints, its stack dumps, its trace, and the judge's socket.
    allowed = {"/dev/null", "/memfd", "socket"}
    assert {name for name in told["open"] if not name.startswith("/proc/")} <= allowed
    assert not [name for name in told["environment"] if name.startswith(("LD_PRELOAD", "GRADER_I"))]


LIMITS = """
    import ctypes, errno, mmap, os, resource, socket, tempfile
    libc = ctypes.CDLL(None, use_errno=True)

    def refused(act):
        try:
            act()
        except (OSError, MemoryError, ValueError) as error:
            return type(error).__name__ + " " + errno.errorcode.get(getattr(error, "errno", 0), "")
        return "done"

    def take_descriptors():
        taken = []
        try:
            while True:
                taken.append(os.dup(0))
        finally:
            for descriptor in taken:
                os.close(descriptor)

    def write():
        import signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with open("big", "wb", buffering=0) as file:
            file.seek((256 << 20) - 1)
            file.write(b"xx")
            file.write(b"x")

    def lock():
        page = mmap.mmap(-1, 4096)
        if libc.mlock(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(page))), 4096):
            raise OSError(ctypes.get_errno(), "mlock")

    def queue():
        os.close(os.open("/dev/mqueue/mine", os.O_CREAT | os.O_RDWR))

    ATTEMPTS = {
        "descriptors": take_descriptors,
        "file": write,
        "data": lambda: bytearray(3 << 30),
        "lock": lock,
        "queue": queue,
        "nice": lambda: os.nice(-1),
        "realtime": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
        "raise": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096)),
        "memfd": lambda: os.memfd_create("x"),
        "vsock": lambda: socket.socket(40, socket.SOCK_STREAM),
        "root": lambda: os.setuid(0),
        "oom": lambda: open("/proc/self/oom_score_adj", "w").write("0"),
        "judge": lambda: os.kill(os.getppid(), 0),
    }

    def go(comm):
        assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)
        print({name: refused(act) for name, act in ATTEMPTS.items()})
    """


def test_every_limit_holds_when_it_is_tried():
    """One attempt each at what a rank may not do."""
    (answer,) = runs(order(LIMITS))
    assert answer["verdict"] == "", answer
    assert eval(answer["printed"][0]) == {
        "descriptors": "OSError EMFILE",
        "file": "OSError EFBIG",
        "data": "MemoryError ",
        "lock": "PermissionError EPERM",
        "queue": "OSError EMFILE",
        "nice": "PermissionError EPERM",
        "realtime": "PermissionError EPERM",
        "raise": "ValueError ",
        "memfd": "OSError ENOSYS",
        "vsock": "OSError EAFNOSUPPORT",
        "root": "PermissionError EPERM",
        "oom": "PermissionError EACCES",
        "judge": "PermissionError EPERM",
    }


def test_nothing_but_a_runs_own_folders_can_be_written():
    """Neither the image, nor what the kernel shows of itself."""
    source = """
        import os
        def go(comm):
            written = []
            for folder in ("/", "/etc", "/opt", "/usr/bin", "/run", "/dev", "/proc", "/sys"):
                try:
                    open(f"{folder}/by-a-rank", "w")
                    written.append(folder)
                except OSError:
                    pass
            for file in (
                *("/etc/passwd", "/proc/sys/kernel/core_pattern", "/sys/fs/cgroup/cgroup.procs"),
                f"/proc/{os.getppid()}/oom_score_adj",
            ):
                try:
                    open(file, "a")
                    written.append(file)
                except OSError:
                    pass
            print(written)
        """
    (answer,) = runs(order(source))
    assert (answer["verdict"], answer["printed"]) == ("", ["[]"]), answer


def test_a_fork_bomb_is_the_submissions_own_error():
    """It meets the limit of its user; the run after it finds everything as it was."""
    bomb = """
        import os, time
        def go(comm):
            while True:
                if os.fork() == 0:
                    os.setsid()
                    time.sleep(1000)
        """
    answer, honest = runs(order(bomb), order(HONEST))
    assert answer["verdict"] == "RUN_TIME_ERROR"
    assert "BlockingIOError" in answer["message"]
    assert honest["values"] == [7.0]


def test_too_many_processes_for_the_container_are_told_and_killed():
    """Before the judge finds no room for a process of its own."""
    many = """
        import os, time
        def go(comm):
            try:
                while True:
                    if os.fork() == 0:
                        time.sleep(1000)
            except OSError:
                time.sleep(1000)
        """
    flags = ("--pids-limit", "60", "--memory", "4g", "--memory-swap", "4g")
    answer, honest = runs(order(many), order(HONEST), flags=flags)
    assert answer["verdict"] == "RUN_TIME_ERROR"
    assert "processes and threads at once" in answer["message"]
    assert "the limit is 51" in answer["message"]
    assert honest["values"] == [7.0]


MANY_SMALL = """
    import os, time
    def go(comm):
        for _ in range(60):
            if os.fork() == 0:
                block = bytearray(os.urandom(1)) * (60 << 20)
                time.sleep(1000)
        time.sleep(1000)
    """


@pytest.mark.parametrize("memory", ["4g", "1g"])
def test_memory_in_many_small_processes_is_told_and_killed(memory):
    """No single process is large; the container's counter sees them all, before it is full."""
    flags = ("--pids-limit", "512", "--memory", memory, "--memory-swap", memory)
    answer, honest = runs(order(MANY_SMALL), order(HONEST), flags=flags)
    assert answer["verdict"] == "MEMORY_LIMIT_EXCEEDED"
    assert "MiB of memory" in answer["message"]
    assert honest["values"] == [7.0]


def test_what_is_printed_past_the_ranks_is_capped_as_well():
    """The output of mpirun lies open to every process of its user."""
    flood = """
        import os
        def go(comm):
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    name = open(f"/proc/{pid}/comm").read().strip()
                    if name in ("prterun", "mpirun"):
                        with open(f"/proc/{pid}/fd/1", "wb") as log:
                            while True:
                                log.write(b"x" * (1 << 20))
                except PermissionError:
                    continue
        """
    answer, honest = runs(order(flood, ranks=2, backend="mpi"), order(HONEST))
    assert answer["verdict"] == "OUTPUT_LIMIT_EXCEEDED", answer
    assert "child processes of the ranks printed more than 8 MiB" in answer["message"]
    assert honest["values"] == [7.0]


def test_no_rank_looks_into_another():
    """Of the same user, and yet neither memory nor descriptors nor environment can be read."""
    source = """
        import os
        def go(comm):
            pids = comm.allgather(os.getpid())
            other = pids[1 - comm.rank]
            found = []
            for name in ("mem", "environ", "maps", "fd", "cwd"):
                try:
                    path = f"/proc/{other}/{name}"
                    os.readlink(path) if name == "cwd" else (
                        os.listdir(path) if name == "fd" else open(path, "rb").read(1))
                    found.append(name)
                except OSError:
                    pass
            comm.Barrier()
            print(found)
        """
    (answer,) = runs(order(source, ranks=2, backend="mpi"))
    assert answer["verdict"] == "", answer
    assert answer["printed"] == ["[]", "[]"]


def test_daemons_and_hostile_files_do_not_reach_the_next_run():
    """Deep, locked and oddly named files wherever everybody may write; processes that hide."""
    hostile = """
        import os
        def go(comm):
            for place in ("/tmp", "/dev/shm", os.getcwd()):
                os.chdir(place)
                os.mkdir("locked")
                os.makedirs("locked/in/in")
                os.symlink("/opt/venv", "locked/in/link")
                os.chmod("locked/in", 0)
                os.chmod("locked", 0)
                for name in (b"-rf", b"a\\nb", b"\\xff", b"x" * 255):
                    open(name, "w").close()
                os.mkdir("deep")
                at = os.open("deep", os.O_RDONLY)
                for _ in range(700):
                    os.mkdir("d" * 250, dir_fd=at)
                    at, before = os.open("d" * 250, os.O_RDONLY, dir_fd=at), at
                    os.close(before)
                os.close(at)
            for _ in range(3):
                if os.fork() == 0:
                    os.setsid()
                    while True:
                        if os.fork():
                            os._exit(0)
        """
    answer, honest = runs(order(hostile, case_s=120), order(HONEST))
    assert answer["verdict"] == "", answer
    assert honest["values"] == [7.0]


LOCKED = """
    import os
    def go(comm):
        with open("large", "wb") as file:
            file.write(bytes(1 << 20))
        for folder in (os.getcwd(), os.environ.get("GRADER_SHARED_MEMORY", os.getcwd())):
            os.chmod(folder, 0)
        return 7
    """


def test_a_folder_that_a_rank_has_locked_is_removed():
    """Its own one, which it works in, and that of its memory: who removes them unlocks them."""
    locked = order(LOCKED, ranks=2, backend="mpi", confined=True)
    answer, honest = runs(locked, order(HONEST))
    assert set(answer["values"]) == {7.0}, answer
    assert honest["values"] == [7.0]


def test_a_stopped_mpirun_does_not_outlive_its_run():
    """Signals that only stop are no way to stay."""
    source = """
        import os, signal
        def go(comm):
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    if int(pid) not in (os.getpid(), 1):
                        os.kill(int(pid), signal.SIGSTOP)
                except OSError:
                    pass
            os.kill(os.getpid(), signal.SIGSTOP)
        """
    answer, honest = runs(order(source, ranks=2, backend="mpi", case_s=3), order(HONEST))
    assert answer["verdict"] == "TIME_LIMIT_EXCEEDED", answer
    assert honest["values"] == [7.0]


@pytest.mark.parametrize("whom", ["forkserver", "supervisor"])
def test_a_run_whose_keeper_was_killed_is_run_again(whom):
    """As by the kernel when memory runs out: what was begun is cleared away, and nothing passes."""
    slow = """
        import os, time
        def go(comm):
            open(f"/tmp/{os.getuid()}", "w").close()
            if os.fork() == 0:
                time.sleep(1000)
            time.sleep(3)
            return 7
        """
    warm, answer = runs(order(HONEST), order(slow, kill=whom))
    assert warm["values"] == answer["values"] == [7.0]


WORLDS = {
    "mpi": {"ranks": 2, "backend": "mpi"},
    "own-mpi": {"ranks": 2, "backend": "mpi", "standalone": True, "probe": "bare_script"},
    "gloo": {"ranks": 2, "backend": "torch"},
    "none": {"ranks": 1, "backend": "none"},
}
"""The worlds of docs/threat-model.md: MPI, MPI that the program starts, torch, one process."""
# What a submission of each world ends with: ranks that have exchanged their process numbers.
IN_A_WORLD = """
def both(world, mine):
    if world == "gloo":
        import torch.distributed as dist
        found = [None, None]
        dist.all_gather_object(found, mine)
        return found
    if world == "none":
        return [mine]
    from mpi4py import MPI
    return MPI.COMM_WORLD.allgather(mine)

def go(comm):
    act(WORLD)
    both(WORLD, 0)
    return 7

if __name__ == "__main__":
    go(None)
    answer = 7
"""


def in_world(world, source, **more):
    """Return an order whose ranks call `act(world)`, and may call `both(world, mine)`."""
    text = f"WORLD = {world!r}\n" + textwrap.dedent(source) + IN_A_WORLD
    return order(text, **{"confined": True, **WORLDS[world], **more})


BETWEEN_RANKS = """
import os, signal, socket, subprocess
from pathlib import Path

def ways(own, rank, other):
    everybodys = own.parents[1]
    theirs = everybodys / f"rank-{1 - rank}" / "work"
    return {
        "a file of the other": lambda: (theirs / "x").write_text("x"),
        "the other's folder": lambda: os.listdir(theirs),
        "the other's shared memory": lambda: os.listdir(theirs.parent / "memory"),
        "what a link of the other says": lambda: os.readlink(theirs / "link"),
        "the size of a file of the other": lambda: os.stat(theirs / "file"),
        "the mode of the folder of all": lambda: os.chmod(everybodys, 0o777),
        "a file beside the folders": lambda: (everybodys / f"x{rank}").write_text("x"),
        "a file of MPI's": lambda: (everybodys / "segments" / f"x{rank}").write_text("x"),
        "a pipe with a name": lambda: os.mkfifo(everybodys / f"pipe{rank}"),
        "a file in /dev/shm": lambda: Path(f"/dev/shm/x{rank}").write_text("x"),
        "a file in /tmp": lambda: Path(f"/tmp/x{rank}").write_text("x"),
        "TCP": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM),
        "UDP": lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM),
        "messages through the kernel": lambda: socket.socket(socket.AF_NETLINK, 3, 2),
        "a signal": lambda: os.kill(other, signal.SIGCONT),
        "the other's name": lambda: Path(f"/proc/{other}/comm").read_text(),
        "another program": lambda: subprocess.run(["true"]),
        # Last: who becomes somebody else sees less.
        "another user": lambda: os.setreuid(-1, os.getresuid()[2]),
        "another group": lambda: os.setregid(-1, os.getresgid()[2]),
    }

def act(world):
    pids = both(world, os.getpid())
    rank = pids.index(os.getpid())
    found = []
    own = Path.cwd() if Path.cwd().name == "work" else Path.cwd() / f"rank-{rank}" / "work"
    os.symlink("said by a link", own / "link")
    (own / "file").write_text("some bytes")
    both(world, 0)
    for name, way in ways(own, rank, pids[1 - rank]).items():
        try:
            way()
            found.append(name)
        except OSError as error:
            if error.errno not in (1, 13):
                print(f"{name}: {error}", flush=True)
    both(world, 0)
    print("found: " + ", ".join(found), flush=True)
"""
SOCKETS = ["TCP", "UDP", "messages through the kernel"]
"""MPI needs them to start, and gloo for as long as it runs."""


# Not by their names alone: a plugin takes `mpi` for its own mark.
@pytest.mark.parametrize(
    ("world", "windows", "open_ways"),
    [
        ("mpi", False, []),
        ("mpi", True, []),
        ("own-mpi", False, ["a file of MPI's", *SOCKETS]),
        ("gloo", False, SOCKETS),
    ],
    ids=("between_mpi", "between_mpi_with_windows", "between_own_mpi", "between_gloo"),
)
def test_a_rank_has_its_own_folder_only(world, windows, open_ways):
    """Beside MPI, or gloo and the sockets that it needs."""
    (answer,) = runs(in_world(world, BETWEEN_RANKS, windows=windows), modules=["torch"])
    assert (answer["verdict"], answer["values"]) == ("", [7, 7])
    found = [printed.removeprefix("found:").strip() for printed in answer["printed"]]
    assert found == [", ".join(open_ways)] * 2


def test_without_the_second_confinement_there_are_such_ways():
    """So that the test above looks at what the confinement does, not at what never worked."""
    (answer,) = runs(in_world("mpi", BETWEEN_RANKS, confined=False))
    assert (answer["verdict"], answer["values"]) == ("", [7, 7])
    for printed in answer["printed"]:
        for way in ("a file in /dev/shm", "UDP", "another program", "another user"):
            assert way in printed


OWN_MEMORY = """
import contextlib, os

def ways():
    me = f"/proc/{os.getpid()}"
    # Ranks that are not confined have one folder.
    with contextlib.suppress(FileExistsError):
        os.symlink("/proc/self", "me")
    return {
        "by its name": lambda: open("/proc/self/maps"),
        "of a thread": lambda: open("/proc/thread-self/maps"),
        "below its threads": lambda: open(f"{me}/task/{os.getpid()}/maps"),
        "by a link": lambda: open("me/maps"),
        "by a folder": lambda: os.listdir(f"{me}/map_files"),
        "from an open folder": lambda: os.open("maps", 0, dir_fd=os.open(me, os.O_PATH)),
        "from far above": lambda: os.open("proc/self/maps", 0, dir_fd=os.open("/", os.O_PATH)),
        "in detail": lambda: open(f"{me}/smaps"),
        "by nodes": lambda: open(f"{me}/numa_maps"),
        "as it began": lambda: open(f"{me}/auxv"),
        "the memory itself": lambda: open("me/mem", "r+b"),
    }

def found():
    worked = []
    for name, way in ways().items():
        try:
            way()
            worked.append(name)
        except OSError:
            pass
    return worked

def act(world):
    before = found()
    both(world, 0)
    print(f"found: {before}, then {found()}", flush=True)
"""


@pytest.mark.parametrize("world", ["mpi", "own-mpi", "gloo"], ids="of_{}".format)
def test_no_path_tells_a_rank_where_its_memory_has_what(world):
    """The trace lies there; the guard refuses the plain name only."""
    (answer,) = runs(in_world(world, OWN_MEMORY), modules=["torch"])
    assert (answer["verdict"], answer["values"]) == ("", [7, 7])
    assert [said.strip() for said in answer["printed"]] == ["found: [], then []"] * 2


def test_without_the_second_confinement_a_rank_reads_where_its_memory_has_what():
    (answer,) = runs(in_world("mpi", OWN_MEMORY, confined=False))
    for printed in answer["printed"]:
        assert "'by its name'" in printed and "'from an open folder'" in printed


USES = """
import multiprocessing, os, shutil, socket, sqlite3, subprocess, sys, tempfile, threading, time
from pathlib import Path
import numpy as np

def double(x):
    return 2 * x

def add(value):
    with value.get_lock():
        value.value += 1

def fill(tensor):
    tensor += 1

def fill_as(number, tensor):
    tensor += 1

MINE = []

def say_what_is_mine(numbers, says):
    says.value += len(MINE)
    numbers.put(np.random.rand())

def put(queue, has_come):
    import torch
    queue.put(torch.ones(1000))
    has_come.wait(20)  # who sends a tensor has to live until then

FORK = multiprocessing.get_context("fork")

def ended(context, target, *arguments):
    process = context.Process(target=target, args=arguments)
    process.start()
    process.join()
    assert process.exitcode == 0

def files():
    np.save("kept.npy", np.ones(3))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "y").write_text(str(np.load("kept.npy")))
    Path("/dev/null").write_text("x")

def times():
    shutil.copy2("kept.npy", "copied.npy")
    assert time.process_time() > 0 and time.thread_time() > 0
    own = time.pthread_getcpuclockid(threading.get_ident())
    assert time.clock_gettime(own) > 0 and time.clock_getres(own) < 1
    with open("kept.npy", "rb") as file:
        assert os.preadv(file.fileno(), [bytearray(6)], 0) == 6

def standard_streams():
    with open("/dev/stdout", "a") as stream:
        stream.write("")

def proc():
    Path("/proc/self/stat").read_text(), Path("/proc/cpuinfo").read_text()

def threads():
    thread = threading.Thread(target=Path(os.__file__).read_text)
    thread.start()
    thread.join()

def fork():
    ended(FORK, double, 1)

def pipes():
    for pair in (socket.socketpair(), map(os.fdopen, os.pipe(), "rw")):
        for end in pair:
            end.close()

def pool():
    with FORK.Pool(2) as workers:
        assert workers.map(double, [1, 2, 3]) == [2, 4, 6]

def locked_value():
    value = FORK.Value("i", 0)
    ended(FORK, add, value)
    assert value.value == 1

def manager():
    with FORK.Manager() as started:
        assert list(started.list([1])) == [1]

def shared_tensors():
    import torch
    tensor = torch.zeros(5).share_memory_()
    ended(FORK, fill, tensor)
    assert tensor.sum() == 5

def tensors_in_a_queue():
    import torch.multiprocessing
    queue, has_come = torch.multiprocessing.get_context("fork").Queue(), FORK.Event()
    process = FORK.Process(target=put, args=(queue, has_come))
    process.start()
    assert queue.get(timeout=20).sum() == 1000
    has_come.set()
    process.join()

def tensors_shared_by_name():
    import torch.multiprocessing
    torch.multiprocessing.set_sharing_strategy("file_system")
    shared_tensors()
    tensors_in_a_queue()

def data_loader():
    import torch
    from torch.utils.data import DataLoader, TensorDataset
    loader = DataLoader(TensorDataset(torch.ones(64, 4)), batch_size=8, num_workers=2)
    assert sum(x.sum().item() for (x,) in loader) == 256

def database_in_memory():
    sqlite3.connect(":memory:").execute("create table t (x)")

def database_in_a_file():
    sqlite3.connect("kept.db").execute("create table t (x)")

def spawn():
    ended(multiprocessing.get_context("spawn"), double, 1)

def spawn_from_a_fork():
    ended(FORK, spawn)
    ended(multiprocessing.get_context("spawn"), spawn)

def spawned_pool():
    with multiprocessing.get_context("spawn").Pool(2) as workers:
        assert workers.map(double, [1, 2, 3]) == [2, 4, 6]

def forkserver():
    ended(multiprocessing.get_context("forkserver"), double, 1)

def spawned_with_tensors():
    import torch.multiprocessing
    tensor = torch.zeros(5).share_memory_()
    torch.multiprocessing.spawn(fill_as, (tensor,), nprocs=2)
    assert tensor.tolist() == [2, 2, 2, 2, 2]

def spawned_with_a_queue():
    import torch.multiprocessing
    spawning = torch.multiprocessing.get_context("spawn")
    queue, has_come = spawning.Queue(), spawning.Event()
    process = spawning.Process(target=put, args=(queue, has_come))
    process.start()
    assert queue.get(timeout=20).sum() == 1000
    has_come.set()
    process.join()
    assert process.exitcode == 0

def spawned_data_loader():
    import torch
    from torch.utils.data import DataLoader, TensorDataset
    given = TensorDataset(torch.ones(64, 4))
    loader = DataLoader(given, 8, num_workers=2, multiprocessing_context="spawn")
    assert sum(x.sum().item() for (x,) in loader) == 256

def spawned_anew():
    spawning = multiprocessing.get_context("spawn")
    numbers, says = spawning.Queue(), spawning.Value("i", 0)
    for _ in range(2):
        ended(spawning, say_what_is_mine, numbers, says)
    first, second = numbers.get(timeout=20), numbers.get(timeout=20)
    assert first != second and says.value == 0
    failing = spawning.Process(target=os._exit, args=(3,))
    failing.start()
    failing.join()
    assert failing.exitcode == 3
    endless = spawning.Process(target=time.sleep, args=(1000,))
    endless.start()
    endless.terminate()
    endless.join()
    assert endless.exitcode == -15

def all_children_waited_for():
    if os.fork() == 0:
        os._exit(0)
    try:
        while True:
            os.wait()
    except ChildProcessError:
        pass

def shared_memory_block():
    from multiprocessing.shared_memory import SharedMemory
    block = SharedMemory(create=True, size=8)
    block.close()
    block.unlink()

def python():
    subprocess.run([sys.executable, "-c", "1"], check=True)

def new_group():
    import torch
    import torch.distributed as dist
    tensor = torch.ones(3)
    dist.all_reduce(tensor, group=dist.new_group([0, 1]))
    assert tensor.sum() == 6

def ddp():
    import torch
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 3))
    model(torch.ones(2, 3)).sum().backward()

def communicators():
    from mpi4py import MPI
    MPI.COMM_WORLD.Split(0).Dup().Barrier()

def act(world):
    # The first: later there is a child that remembers what processes share.
    uses = [all_children_waited_for, files, times, standard_streams, proc, threads, fork, pipes,
            pool, locked_value,
            manager, shared_tensors, tensors_in_a_queue, tensors_shared_by_name, data_loader,
            database_in_memory, database_in_a_file, spawn, spawn_from_a_fork, spawned_pool,
            forkserver, spawned_with_tensors, spawned_with_a_queue, spawned_data_loader,
            spawned_anew, shared_memory_block, python]
    MINE.append("what a process that is spawned does not have")
    uses += {"gloo": [new_group, ddp], "none": []}.get(world, [communicators])
    worked = []
    for use in uses:
        both(world, 0)
        try:
            use()
            worked.append(use.__name__)
        except (OSError, AssertionError, EOFError, sqlite3.Error) as error:
            print(f"{use.__name__}: {error!r}", flush=True)
    print("worked: " + " ".join(worked), flush=True)
"""
EVERYWHERE = (
    *(
        "files",
        "times",
        "standard_streams",
        "proc",
        "threads",
        "fork",
        "pipes",
        "pool",
        "locked_value",
        "manager",
        "shared_tensors",
        "all_children_waited_for",
    ),
    *("tensors_in_a_queue", "tensors_shared_by_name", "data_loader"),
    *("database_in_memory", "database_in_a_file"),
)
SPAWNS = [
    *("spawn", "spawn_from_a_fork", "spawned_pool", "forkserver", "spawned_with_tensors"),
    *("spawned_with_a_queue", "spawned_data_loader", "spawned_anew"),
]
ALONE = ["shared_memory_block", *SPAWNS, "python"]
"""What works where there is one process to begin with, and is refused to ranks."""


@pytest.mark.parametrize(
    ("world", "more"),
    [
        ("mpi", ["communicators"]),
        ("own-mpi", ["communicators"]),
        ("gloo", ["new_group", "ddp"]),
        ("none", ALONE),
    ],
    ids=("of_mpi", "of_own_mpi", "of_gloo", "of_one_process"),
)
def test_what_students_do_works_in_every_world(world, more):
    """The table of docs/threat-model.md."""
    # Each process that is spawned imports torch anew.
    (answer,) = runs(in_world(world, USES, case_s=400), modules=["torch"])
    assert answer["verdict"] == "", answer
    for printed in answer["printed"]:
        (worked,) = [line for line in printed.split("\n") if line.startswith("worked: ")]

        found = set(worked.split()[1:])
        assert found == {*EVERYWHERE, *more}, printed


PROGRAMS = """
import _posixsubprocess, ctypes, glob, os, shutil, subprocess, sys, threading
from multiprocessing import util

LIBC = ctypes.CDLL(None, use_errno=True)
SAYS = "import os; os.write(1, b'started')"

def from_memory():
    shutil.copyfile("/bin/true", "own")
    os.chmod("own", 0o700)
    return os.open("own", os.O_RDONLY)

def words(*each):
    return (ctypes.c_char_p * (len(each) + 1))(*map(os.fsencode, each), None)

def by_fork_exec(*program):
    arguments, (out, into) = [os.fsencode(each) for each in program], os.pipe()
    pid = _posixsubprocess.fork_exec(
        arguments, arguments[:1], True, (into,), None, None, -1, -1, -1, -1, -1, -1, out, into,
        False, False, 0, None, None, None, -1, None, False)
    return os.waitpid(pid, 0)[1] == 0

def instead(*program):
    pid = os.fork()
    if pid == 0:
        try:
            LIBC.execv(os.fsencode(program[0]), words(*program))
        finally:
            os._exit(77)
    return os.waitpid(pid, 0)[1] == 0

def in_a_thread(*program):
    found = []
    thread = threading.Thread(target=lambda: found.append(instead(*program)))
    thread.start()
    thread.join()
    return found[0]

def by_its_descriptor(*program):
    descriptor = os.open(program[0], os.O_RDONLY)
    pid = os.fork()
    if pid == 0:
        try:
            LIBC.fexecve(descriptor, words(*program), words())
        finally:
            os._exit(77)
    return os.waitpid(pid, 0)[1] == 0

def by_spawn(*program):
    return os.waitpid(os.posix_spawn(program[0], program, {}), 0)[1] == 0

def by_the_pools_way(*program):
    return os.waitpid(util.spawnv_passfds(os.fsencode(program[0]), program, []), 0)[1] == 0

def by_the_c_library(*program):
    return LIBC.system(os.fsencode(" ".join(program[:1]))) == 0

def act(world):
    from_memory()
    (loader,) = glob.glob("/lib64/ld-linux*") + glob.glob("/lib/ld-linux-aarch64*")
    programs = [("/bin/true",), ("/bin/sh", "-c", "exit"), (loader, "/bin/true"), ("own",),
                (loader, "./own"), (sys.executable, "-I", "-S", "-c", SAYS)]
    doors = [by_fork_exec, instead, in_a_thread, by_its_descriptor, by_spawn, by_the_pools_way,
             by_the_c_library]
    started = []
    for program in programs:
        for door in doors:
            try:
                if door(*program):
                    started.append(f"{door.__name__} {program}")
            except OSError as error:
                assert error.errno in (1, 13), error
    print(f"tried {len(programs) * len(doors)}, started {started}", flush=True)
"""


def test_no_rank_starts_another_program():
    """Neither an installed one, nor one of its own, nor Python anew, whoever is asked."""
    (answer,) = runs(in_world("gloo", PROGRAMS), modules=["torch"])
    assert answer["verdict"] == "", answer
    assert [said.split("\n")[-1] for said in answer["printed"]] == ["tried 42, started []"] * 2


def test_a_process_without_others_starts_programs():
    """So that the test above looks at what the kernel refuses, not at what never worked."""
    (answer,) = runs(in_world("none", PROGRAMS))
    for door in ("by_fork_exec", "instead", "in_a_thread", "by_its_descriptor", "by_spawn"):
        assert f"{door} ('/bin/true',)" in answer["printed"][0], answer


def test_torch_finds_what_the_processor_can_where_ranks_are_confined():
    """It reads in /proc what the processor can do: a rank that cannot would do without."""
    source = """
        def act(world):
            import torch
            torch.ones(9).sum()
            print(torch.backends.cpu.get_cpu_capability(), flush=True)
        """
    orders = [in_world("mpi", source, confined=confined) for confined in (True, False)]
    confined, unconfined = runs(*orders, modules=["torch"])
    assert confined["verdict"] == "", confined
    assert confined["printed"] == unconfined["printed"]


def test_windows_of_mpi_work_where_a_part_allows_them():
    source = """
        import numpy as np
        from mpi4py import MPI

        def go(comm):
            window = MPI.Win.Allocate_shared(8 if comm.rank == 0 else 0, 8, comm=comm)
            memory, _ = window.Shared_query(0)
            if comm.rank == 1:
                np.frombuffer(memory, dtype=np.float64)[0] = 5
            comm.Barrier()
            own = MPI.Win.Create(np.full(1, comm.rank), comm=comm)
            got = np.zeros(1, dtype=int)
            own.Fence()
            own.Get(got, 1 - comm.rank)
            own.Fence()
            return float(np.frombuffer(memory, dtype=np.float64)[0]) + got[0]
    """
    with_windows = order(source, ranks=2, backend="mpi", confined=True, windows=True)
    without = order(source, ranks=2, backend="mpi", confined=True)
    allowed, refused = runs(with_windows, without)
    assert (allowed["verdict"], allowed["values"]) == ("", [6, 5])
    assert refused["verdict"] == "RUN_TIME_ERROR"

"""Ways around MPI and torch: refused to submissions, left to installed packages, told in words."""

import pytest
from launching import case, run, values

from grader.model.report import Verdict
from grader.observe.run_control.forkserver_client import ForkserverClient
from grader.recording.launch_plan import Limits
from grader.trace.calls import Trace

TOLD = "; submissions must communicate through mpi4py or torch only"

# Not every Python is built with this function: what it announces is announced then.
EXTENDS = (
    "getattr(sqlite3.connect(':memory:'), 'enable_load_extension', "
    "lambda on: sys.audit('sqlite3.enable_load_extension', None, on))"
)

REFUSED = {
    "a C library": ("import ctypes", "ctypes.CDLL(None)", "opens a C library (ctypes)"),
    "a C library by name": ("import ctypes", "ctypes.CDLL('libc.so.6')", "opens a C library"),
    "a C library in a callback": (
        "import ctypes, numpy as np",
        "np.frompyfunc(lambda name: ctypes.CDLL(name), 1, 1)(np.array([None]))",
        "opens a C library (ctypes)",
    ),
    "libmpi by numpy": (
        "import os, numpy as np, mpi4py.MPI as MPI",
        "np.ctypeslib.load_library(*os.path.split(MPI.__spec__.origin)[::-1]).PMPI_Send",
        "looks up an MPI function of the C library (ctypes)",
    ),
    "a library from elsewhere by numpy": (
        "import os, numpy as np",
        "open('mine.so', 'w').close(); np.ctypeslib.load_library('mine.so', os.getcwd())",
        "opens a C library that is not installed (ctypes)",
    ),
    "an address": (
        "import ctypes",
        "ctypes.c_char.from_address(4096)",
        "uses memory by its address (ctypes)",
    ),
    "a compiled module": (
        "import os, importlib.util as u",
        "u.module_from_spec(u.spec_from_file_location('x', os.getcwd() + '/x.so'))",
        "loads a compiled module that is not installed",
    ),
    "a compiled module by a name that goes on after its end": (
        "import _imp, os, importlib.machinery as m",
        "_imp.create_dynamic(m.ModuleSpec('x', None, origin=os.getcwd() + '/x.so\\0'))",
        "loads a compiled module that is not installed",
    ),
    "a compiled module below a folder called as Python's own code": (
        "import importlib.machinery as m, importlib.util as u",
        "u.module_from_spec(m.ModuleSpec('x', m.ExtensionFileLoader('x', '<frozen x/x.so'), "
        "origin='<frozen x/x.so'))",
        "loads a compiled module that is not installed",
    ),
    "an extension of a database": (
        "import sqlite3, sys",
        f"{EXTENDS}(True)",
        "loads a C library as a database extension (sqlite3)",
    ),
    "an extension by way of numpy": (
        "import sqlite3, sys, numpy as np",
        f"np.vectorize({EXTENDS}, otypes='O')([True])",
        "loads a C library as a database extension (sqlite3)",
    ),
    "an extension of a database, loaded at once": (
        "import sqlite3, sys",
        f"{EXTENDS.replace('enable_', '')}('./mine.so')",
        "loads a C library as a database extension (sqlite3)",
    ),
    "memory that may be run": (
        "import mmap",
        "mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)",
        "maps executable memory (mmap)",
    ),
    "memory that may be run, by position": (
        "import mmap",
        "mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 4)",
        "maps executable memory (mmap)",
    ),
    "a file that may be run": (
        "import mmap, os",
        "open('code', 'wb').write(b'c' * 99); mmap.mmap(os.open('code', 0), 0, 2, prot=5)",
        "maps executable memory (mmap)",
    ),
    "memory": (
        "",
        "open('/proc/self/mem', 'r+b')",
        "opens the memory of a process (/proc/self/mem)",
    ),
    "addresses": ("", "open('/proc/self/maps')", "opens the memory of a process (/proc/self/maps)"),
    "addresses by numpy": (
        "import numpy as np",
        "np.fromfile('/proc/thread-self/maps', 'u1')",
        "opens the memory of a process (/proc/thread-self/maps)",
    ),
    "addresses by what stands for an importer": (
        "import sys, numpy as np",
        "sys.meta_path.insert(0, type('X', (), dict(find_spec=lambda *_: np.fromfile("
        "'/proc/self/maps')))); import no_such_module",
        "opens the memory of a process (/proc/self/maps)",
    ),
    "addresses by numpy in place of an importer": (
        "import sys, types, numpy.lib.format as f",
        "sys.meta_path.insert(0, types.SimpleNamespace(find_spec=lambda *_: 0)); "
        "sys.meta_path[0].find_spec = type('P', (), dict(__call__=staticmethod("
        "__import__('functools').partial(f.open_memmap, '/proc/self/mem'))))(); import no_such",
        "opens the memory of a process (/proc/self/mem)",
    ),
    "a shell": ("import posix", "posix.system('true')", "starts another program"),
    "a program whose output is read": (
        "import subprocess",
        "subprocess.run(['true'], capture_output=True)",
        "starts another program",
    ),
    "another program in our place": ("import os", "os.execv('/bin/true', ['true'])", "starts"),
    "a program, from a text": (
        "",
        "exec(\"import os; os.posix_spawn('/bin/true', ['true'], {})\")",
        "<string>:1 starts another program",
    ),
    "code of numpy's": (
        "import numpy",
        "compile('1', numpy.__file__, 'exec')",
        "makes code under the name of another file",
    ),
    "code of ours": (
        "",
        "go.__code__.replace(co_filename='<probes>')",
        "makes code under the name of another file",
    ),
    "code of probes by way of numpy": (
        "import numpy",
        "numpy.vectorize(compile, otypes=[object])('1', '<probes.x>', 'exec')",
        "makes code under the name of another file",
    ),
    "code by marshal": (
        "import marshal",
        "marshal.loads(marshal.dumps(compile('1', '<PROBES.x>', 'exec'))"
        ".replace(b'PROBES', b'probes'))",
        "makes code under the name of another file",
    ),
    "code from a file by marshal": (
        "import marshal",
        "marshal.load(open(__file__, 'rb'))",
        "reads data that may be code from a file (marshal)",
    ),
    "code that an importer of its own reads": (
        "from importlib.machinery import SourceFileLoader as Loader",
        "type('Own', (Loader,), dict(get_data=lambda *_: b''))('x', '<probes.x>').get_code('x')",
        "makes code under the name of another file",
    ),
    "compiled code that claims to be numpy's": (
        "import marshal, numpy, sys, importlib.util as u",
        "open('x.pyc', 'wb').write(u.MAGIC_NUMBER + bytes(12) + marshal.dumps(compile('', '~' * "
        "len(numpy.__file__), 'exec')).replace(b'~' * len(numpy.__file__), numpy.__file__.encode"
        "())); sys.path.insert(0, ''); import x",
        "makes code under the name of another file",
    ),
    "a spawned program": (
        "import sys",
        "comm.Spawn(sys.executable, ['-c', ''], maxprocs=1)",
        "calls Comm_spawn, which starts or connects other programs",
    ),
    "a window": (
        "import numpy as np; from mpi4py import MPI",
        "MPI.Win.Create(np.zeros(1), comm=comm)",
        "calls Win_create, which shares memory instead of sending messages",
    ),
    "a port": (
        "from mpi4py import MPI",
        "MPI.Open_port()",
        "calls Open_port, which starts or connects other programs",
    ),
}

LEFT_ALONE = {
    "a fork": "import os\ndef go(comm):\n    os.waitpid(os.fork() or os._exit(0), 0)",
    "shared numbers": (
        "import multiprocessing as mp\n"
        "def add(number): number.value += 1\n"
        "def go(comm):\n"
        "    number, many = mp.Value('i', 0), mp.Array('d', [1.0, 2.0])\n"
        "    process = mp.Process(target=add, args=(number,))\n"
        "    process.start(), process.join()\n"
        "    assert number.value == 1 and many[1] == 2.0"
    ),
    "what the machine is": (
        "import os, platform, uuid\n"
        "def go(comm):\n"
        "    platform.platform(), platform.processor(), uuid.uuid4(), os.cpu_count()\n"
        "    open('/proc/meminfo').close(), open('/proc/self/status').close()"
    ),
    "files of its own": (
        "import pickle, numpy as np\n"
        "def go(comm):\n"
        "    np.save(f'mine{comm.rank}.npy', np.ones(3))\n"
        "    assert np.load(f'mine{comm.rank}.npy', mmap_mode='r').sum() == 3\n"
        "    exec(compile('x = 1', '<mine>', 'exec'))"
    ),
    "databases and mapped memory": (
        "import mmap, sqlite3\n"
        "def go(comm):\n"
        "    assert sqlite3.connect(':memory:').execute('select 2').fetchone() == (2,)\n"
        "    mmap.mmap(-1, 4096).close(), mmap.mmap(-1, 4096, prot=mmap.PROT_READ).close()"
    ),
    "folders": (
        "import os, shutil\n"
        "def go(comm):\n"
        "    mine = f'mine{comm.rank}'\n"
        "    os.makedirs(mine + '/proc/self/fd')\n"
        "    open(mine + '/proc/self/maps', 'w').close(), open(mine + '/mem', 'w').close()\n"
        "    os.close(os.open('mem', os.O_RDONLY, dir_fd=os.open(mine, os.O_RDONLY)))\n"
        "    shutil.rmtree(mine)\n"
        "    os.listdir('/proc'), os.listdir('/proc/self/fd'), list(os.scandir('/'))"
    ),
    "compiled files of its own": (
        "import os, marshal, py_compile, sys\n"
        "def go(comm):\n"
        "    open('helper.py', 'w').write('def one(): return 1')\n"
        "    py_compile.compile('helper.py', 'helper.pyc')\n"
        "    os.remove('helper.py'), sys.path.insert(0, os.getcwd())\n"
        "    import helper\n"
        "    assert helper.one() == marshal.loads(marshal.dumps(1))"
    ),
    "numpy's use of C": (
        "import ctypes, numpy as np\n"
        "def go(comm):\n"
        "    array = np.ones(3)\n"
        "    assert array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))[2] == array.sum() / 3\n"
        "    np.ctypeslib.as_ctypes(array)[0] = 2.0\n"
    ),
    "packages loaded late": (
        "def go(comm):\n"
        "    import sqlite3, numpy.testing, numpy.fft, mpi4py.util.pkl5\n"
        "    numpy.fft.fft(numpy.ones(4))"
    ),
    "the standard library loaded late": (
        "def go(comm):\n"
        "    import asyncio, unittest.mock\n"
        "    assert asyncio.run(asyncio.sleep(0, 'done')) == 'done'"
    ),
    "torch loaded late": (
        "def go(comm):\n    import torch, torch.distributed, torch.multiprocessing"
    ),
}


@pytest.fixture(scope="module")
def server():
    with ForkserverClient() as started:
        yield started


@pytest.mark.parametrize("name", REFUSED)
def test_a_way_around_is_refused(name, server):
    """The call raises; where that ends the run, it is a violation that names file and line."""
    imports, statement, said = REFUSED[name]
    source = f"{imports}\ndef go(comm):\n    {statement}\n    return 1\n"
    launched = run(source, ranks=1, server=server)
    assert launched.failure is not None, name
    assert launched.failure.verdict is Verdict.RULE_VIOLATION, launched.failure
    assert said in launched.failure.message
    assert launched.failure.message.endswith(TOLD)
    assert "work.py:3" in launched.failure.message or "<string>" in said
    assert launched.refusals == (launched.failure.message,)


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_what_honest_programs_do_is_left_alone(name, server):
    """It works, and nothing is noted."""
    launched = run(LEFT_ALONE[name], ranks=1, server=server, limits=Limits(case_s=60.0))
    assert launched.failure is None, launched.failure
    assert launched.refusals == ()


@pytest.mark.parametrize("file", ["'<probes.x>'", "sys.modules['grader_rank.harness'].__file__"])
def test_nobody_makes_code_of_ours_also_not_a_probe_that_calls_into_c(server, file):
    """What the student hands out is C code then, and the probe the one that asks."""
    source = f"""
    import functools, sys
    go = functools.partial(dict.fromkeys, map(compile, ["1"], [{file}], ["exec"]))
    """
    launched = run(source, ranks=1, server=server)
    assert launched.failure is not None
    assert "makes code under the name of another file" in launched.refusals[0]


def test_a_roundabout_name_of_a_file_makes_it_nobody_elses(server):
    """One that begins with the folder of a package and leads out of it again."""
    source = """
    import numpy, sys, os
    def go(comm):
        with open("helper.py", "w") as helper:
            helper.write("import ctypes\\nctypes.CDLL(None)")
        sys.path.insert(0, os.path.dirname(numpy.__file__) + "/.." * 20 + os.getcwd())
        import helper
    """
    launched = run(source, ranks=1, server=server)
    assert launched.refusals == (f"rank 0: helper.py:2 opens a C library (ctypes){TOLD}",)


def test_a_refusal_that_is_caught_costs_nothing_by_itself(server):
    """The ranks answer; what was refused is told beside the answers, the first of each rank."""
    source = """
    import ctypes, os
    def go(comm):
        for act in (lambda: ctypes.CDLL(None), lambda: os.system("true")):
            try:
                act()
            except OSError:
                pass
        return 1
    """
    launched = run(source, server=server)
    assert launched.failure is None
    assert values(launched) == [1.0, 1.0]
    said = "work.py:4 opens a C library (ctypes)"
    assert launched.refusals == tuple(f"rank {rank}: {said}{TOLD}" for rank in range(2))


def test_a_program_whose_output_nobody_reads_is_left_out(server):
    """The rank goes on as if none were found, and a remark names each line."""
    source = """
    import os, subprocess
    def go(comm):
        assert os.system("true") >> 8 == 127
        assert subprocess.call(["true"]) == 127
        assert subprocess.run("true", shell=True, stdout=subprocess.DEVNULL).returncode == 127
        return 1
    """
    launched = run(source, server=server)
    assert (values(launched), launched.refusals) == ([1.0, 1.0], ())
    assert [each.text.partition(" ")[0] for each in launched.remarks] == [
        "work.py:4",
        "work.py:5",
        "work.py:6",
    ]


def test_a_thread_that_runs_the_library_itself(server):
    """With nobody but the standard library on its stack, it acts for the submission."""
    source = """
    import ctypes, threading
    def go(comm):
        thread = threading.Thread(target=ctypes.CDLL, args=(None,))
        thread.start(), thread.join()
    """
    launched = run(source, ranks=1, server=server)
    assert len(launched.refusals) == 1


def test_a_thread_that_runs_the_harness_itself(server):
    """As little does a thread with nobody but us on its stack act for us."""
    source = """
    import _thread, builtins, os, time
    def go(comm):
        fake = type("Fake", (), {})()
        fake._submission = fake._support = type("Path", (), {"rglob": os.system})
        _thread.start_new_thread(type(builtins.__import__)._is_given, (fake, "true #"))
        time.sleep(0.5)
    """
    launched = run(source, ranks=1, server=server)
    assert len(launched.refusals) == 1 and "starts another program" in launched.refusals[0]


@pytest.mark.parametrize("backend", ["none", "torch"])
def test_other_worlds_are_guarded_as_well(backend):
    """Where there is no MPI, too."""
    with ForkserverClient(("torch",) if backend == "torch" else ()) as server:
        source = "import ctypes\ndef go(comm):\n    ctypes.CDLL(None)\n"
        failure = run(source, ranks=1, backend=backend, server=server).failure
        assert failure is not None
        assert failure.verdict is Verdict.RULE_VIOLATION
        assert "work.py:3 opens a C library" in failure.message
        assert (
            run("def go(comm): return 1", ranks=1, backend=backend, server=server).failure is None
        )


def test_a_later_error_is_told_as_what_it_is(server):
    """Who catches a refusal and fails for another reason is told the other reason."""
    source = """
    import ctypes
    def go(comm):
        try:
            ctypes.CDLL(None)
        except OSError:
            pass
        return [][1]
    """
    failure = run(source, ranks=1, server=server).failure
    assert failure is not None
    assert failure.verdict is Verdict.RUN_TIME_ERROR


def test_evidence_that_disagrees_is_a_doubt(server):
    """Messages that only MPI's own count shows; honest cases before and after have none."""
    source = """
    from mpi4py import MPI
    def send(comm, key, value):
        comm.sendrecv(5, 1 - comm.rank, source=1 - comm.rank)
    def go(comm):
        comm.sendrecv(4, 1 - comm.rank, source=1 - comm.rank)
        if len(seen) == 1:
            comm.Set_attr(MPI.Comm.Create_keyval(copy_fn=send), 1)
            comm.Dup().Free()
        seen.append(1)
    seen = []
    """
    launched = run(source, cases=(case("one"), case("two"), case("three")), server=server)
    assert launched.failure is None
    traces = [outcome.trace for outcome in launched.outcomes]
    assert all(isinstance(trace, Trace) for trace in traces)
    assert [bool(trace.doubts) for trace in traces] == [False, True, False]
    assert any("MPI itself counted 2" in doubt for doubt in traces[1].doubts)


def test_what_one_case_leaves_behind_may_be_received_in_the_next(server):
    """Over COMM_WORLD, which outlives a case: no doubt."""
    source = """
    from mpi4py import MPI
    comm_world, seen = MPI.COMM_WORLD, []
    def go(comm):
        if seen:
            comm_world.recv(source=1 - comm.rank)
        comm_world.isend(1, 1 - comm.rank).wait()
        seen.append(1)
    """
    launched = run(source, cases=(case("one"), case("two")), server=server)
    assert [outcome.trace.doubts for outcome in launched.outcomes] == [(), ()]


@pytest.mark.parametrize("end", ["", "MPI.Finalize()"])
def test_both_witnesses_agree_on_a_whole_program(server, end):
    """One that initialises MPI itself, and ends it or not; a student's phase marks are no marks."""
    source = f"""
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    MPI.Pcontrol(2)
    for length in range(5):
        comm.sendrecv(b"x" * length, 1 - comm.rank, source=1 - comm.rank)
    answer = comm.allreduce(1)
    {end}
    """
    cases = (case(probe="bare_script"),)
    launched = run(source, standalone=True, cases=cases, server=server)
    assert launched.failure is None, launched.failure
    trace = launched.outcomes[0].trace
    assert trace.doubts == ()
    for rank in trace.ranks:
        assert [call.function for call in rank.calls].count("Isend") == 5


def test_a_part_may_allow_windows():
    """What one rank puts into a window of the other is there."""
    source = """
        import numpy as np
        from mpi4py import MPI

        def go(comm):
            window = MPI.Win.Allocate_shared(8 if comm.rank == 0 else 0, 8, comm=comm)
            memory, _ = window.Shared_query(0)
            window.Fence()
            if comm.rank == 1:
                np.frombuffer(memory, dtype=np.float64)[0] = 5
            window.Fence()
            return float(np.frombuffer(memory, dtype=np.float64)[0])
    """
    assert values(run(source, windows=True)) == [5, 5]

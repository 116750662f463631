"""What a machine denies a run is what others had while the run could have had it."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.observe.forkserver.run_queue_delay import (
    RunQueueDelay,
    _ran_by_those_we_waited_for_ns,
    _times_of,
    run_queue_delay_s,
)

SPIN = "while True: pass"


@pytest.mark.parametrize(
    ("ran_s", "waited_s", "expected_s"),
    [
        pytest.param(0.0, 0.0, 0.0, id="nobody wants to run"),
        pytest.param(1.0, 0.0, 0.0, id="one runs all the time"),
        pytest.param(0.25, 0.75, 0.75, id="one is kept waiting by three others"),
        pytest.param(0.1, 0.3, 0.3, id="one computes now and then"),
        pytest.param(2.0, 14.0, 0.0, id="sixteen that poll have both cores to themselves"),
        pytest.param(0.5, 3.5, 0.75, id="four have a quarter of both cores"),
        pytest.param(0.0, 1.0, 1.0, id="one does not run at all"),
        pytest.param(2.1, 0.4, 0.0, id="the kernel counts a little late"),
    ],
)
def test_a_run_is_compared_with_itself_on_an_idle_machine(ran_s, waited_s, expected_s):
    """In one second, on two cores."""
    assert run_queue_delay_s(1.0, ran_s, waited_s, 2) == pytest.approx(expected_s)


def started(number):
    """Start processes that want a core each, and more than there are get none."""
    command = [sys.executable, "-I", "-S", "-c", SPIN]
    # Some kernels share cores by session.
    return [subprocess.Popen(command, start_new_session=True) for _ in range(number)]


def stop(processes):
    for each in processes:
        each.kill()
        each.wait()


def looked_at_for(processes, lasts_s):
    """Return what was denied to these processes while the clock passed this."""
    denied = RunQueueDelay(len(os.sched_getaffinity(0)))
    time.sleep(lasts_s)
    denied.look([each.pid for each in processes])
    return denied.total_s


def test_processes_that_share_their_cores_with_others_are_denied_most_of_the_time():
    """One among many: of two cores and seventeen processes it gets an eighth at best."""
    mine = started(1)
    others = started(8 * len(os.sched_getaffinity(0)))
    try:
        began_s = time.monotonic()
        denied = looked_at_for(mine, 2.0)
        lasted_s = time.monotonic() - began_s
    finally:
        stop([*mine, *others])
    assert 0.4 * lasted_s < denied <= lasted_s


def test_processes_that_ask_for_more_than_there_is_are_denied_nothing_by_that():
    """They wait for each other; on an idle machine they would as well."""
    crowd = started(16 * len(os.sched_getaffinity(0)))
    try:
        alone_s = looked_at_for(crowd, 1.0)
        one_s = looked_at_for(crowd[:1], 1.0)
    finally:
        stop(crowd)
    assert alone_s < 0.7 * one_s


def test_a_process_that_is_gone_and_a_kernel_that_tells_nothing_deny_nothing(told):
    """The clock alone counts then."""
    told(7, ran_s=0.0, waited_s={})
    told.look([7])
    told.look([1 << 22])
    assert told.denied.total_s == 0.0


class Told:
    """A kernel that tells what it is told to, of looks that are a second apart."""

    def __init__(self, monkeypatch, folder):
        self._folder = folder
        self._ran_ns = {}
        self._by_us_s = 0.0
        self._now_s = 0.0
        module = "grader.observe.forkserver.run_queue_delay"
        monkeypatch.setattr(f"{module}._PROC", folder)
        monkeypatch.setattr(f"{module}.time.monotonic", lambda: self._now_s)
        monkeypatch.setattr(f"{module}.time.clock_gettime_ns", self._ran_of)
        monkeypatch.setattr(f"{module}._ran_by_those_we_waited_for_ns", self._ended_ns)
        self.denied = RunQueueDelay(2)

    def __call__(self, pid, *, ran_s, waited_s, children_s=0.0):
        """Tell this of a process from now on; waited_s: by thread."""
        shutil.rmtree(self._folder / str(pid), ignore_errors=True)
        self._ran_ns[(~pid << 3) | 2] = round(ran_s * 1e9)
        for thread, seconds in waited_s.items():
            folder = self._folder / str(pid) / "task" / str(thread)
            folder.mkdir(parents=True)
            (folder / "schedstat").write_text(f"1 {seconds * 1e9:.0f} 5\n")
        if not waited_s:
            (self._folder / str(pid) / "task").mkdir(parents=True)
        ticks = round(children_s * os.sysconf("SC_CLK_TCK"))
        fields = ["S", *["0"] * 12, str(ticks), "0", "20"]
        (self._folder / str(pid) / "stat").write_text(f"{pid} (a) b) {' '.join(fields)}\n")

    def ended_below_us(self, ran_s):
        """Tell that we have waited for a process which ran that long."""
        self._by_us_s += ran_s

    def look(self, pids):
        """Return what was denied in the last second."""
        before_s = self.denied.total_s
        self._now_s += 1.0
        self.denied.look(pids)
        return pytest.approx(self.denied.total_s - before_s)

    def _ran_of(self, clock):
        if clock not in self._ran_ns:
            raise OSError
        return self._ran_ns[clock]

    def _ended_ns(self):
        return round(self._by_us_s * 1e9)


@pytest.fixture
def told(monkeypatch, tmp_path):
    return Told(monkeypatch, tmp_path)


def test_looks_are_added_up(told):
    """Each counts what has come since the last one; a thread that has ended takes nothing back."""
    told(7, ran_s=0.5, waited_s={7: 0.5})
    assert told.look([7]) == 0.5
    told(7, ran_s=1.25, waited_s={7: 0.75, 8: 0.0})
    assert told.look([7]) == 0.25
    told(7, ran_s=1.25, waited_s={7: 1.75})
    assert told.look([7]) == 1.0
    assert told.denied.total_s == pytest.approx(1.75)


def test_threads_that_no_look_sees_are_the_runs_own(told):
    """One thread waits for a core while others of its process have both, each for a moment."""
    told(7, ran_s=2.0, waited_s={7: 0.9})
    assert told.look([7]) == 0.0
    told(7, ran_s=2.1, waited_s={7: 1.8})
    assert told.look([7]) == 0.9


def test_processes_that_no_look_sees_are_the_runs_own(told):
    """Whether the run has waited for them, or left that to us."""
    told(7, ran_s=0.1, waited_s={7: 0.9}, children_s=1.9)
    assert told.look([7]) == 0.0
    told(7, ran_s=0.2, waited_s={7: 1.8}, children_s=1.9)
    told.ended_below_us(1.9)
    assert told.look([7]) == 0.0


def test_what_a_look_has_seen_of_a_process_is_not_counted_again_when_it_ends(told):
    """It ran ten seconds, a tenth in the last one; those whose end it waited for ran five."""
    told(7, ran_s=0.0, waited_s={7: 0.0})
    told(8, ran_s=9.9, waited_s={8: 0.0}, children_s=5.0)
    told.look([7, 8])
    told(7, ran_s=0.1, waited_s={7: 0.8}, children_s=15.0)
    assert told.look([7]) == 0.8


def test_a_process_that_is_waited_for_later_is_not_counted_again(told):
    """Between its end and that, a look sees neither it nor what its parent is told."""
    told(7, ran_s=0.0, waited_s={7: 0.0})
    told(8, ran_s=9.9, waited_s={8: 0.0})
    told.look([7, 8])
    told(7, ran_s=0.2, waited_s={7: 0.8})
    assert told.look([7]) == 0.8
    told.ended_below_us(10.0)
    told(7, ran_s=0.3, waited_s={7: 1.6})
    assert told.look([7]) == 0.8


def test_one_that_ends_beside_it_takes_nothing_from_a_thread_that_waits(told):
    """A thread may end between the list of all and the look at it."""
    told(7, ran_s=0.5, waited_s={7: 0.5})
    (told._folder / "7" / "task" / "9").mkdir()
    assert told.look([7]) == 0.5


def told_by_the_kernel(code):
    """Return what a process that runs this prints, and what is told of it and its threads then."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", f"{code}\ninput()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        printed = process.stdout.readline()
        own = Path(f"/proc/{process.pid}/task/{process.pid}/schedstat").read_text()
        return float(printed), _times_of(process.pid), int(own.split()[0])
    finally:
        process.communicate(b"\n")


def test_the_kernels_own_counts_of_a_process_whose_threads_end():
    """What its threads ran is told after their end; which may be a moment after it is seen."""
    _, times, own_ns = told_by_the_kernel(
        "import os, threading\n"
        "thread = threading.Thread(target=lambda: sum(range(5_000_000)))\n"
        "thread.start(); thread.join()\n"
        "while len(os.listdir('/proc/self/task')) > 1: pass\n"
        "print(0, flush=True)"
    )
    assert times.ran > own_ns + 10_000_000
    assert len(times.waited) == 1


def test_the_kernels_own_counts_of_children_that_have_ended():
    """They are told in ticks of the clock."""
    ran_s, times, _ = told_by_the_kernel(
        "import os\n"
        "if os.fork() == 0: sum(range(20_000_000)); os._exit(0)\n"
        "used = os.wait3(0)[2]\n"
        "print(used.ru_utime + used.ru_stime, flush=True)"
    )
    assert times.children_ran / 1e9 == pytest.approx(ran_s, abs=0.05)


def test_what_we_have_waited_for_is_told_in_nanoseconds():
    """Of a child that says itself how long it ran."""
    # What earlier tests left to be waited for is not this one's.
    subprocess._cleanup()
    before_ns = _ran_by_those_we_waited_for_ns()
    code = "import time; sum(range(20_000_000)); print(time.process_time_ns())"
    ran_ns = int(subprocess.check_output([sys.executable, "-I", "-S", "-c", code]))
    assert ran_ns <= _ran_by_those_we_waited_for_ns() - before_ns <= 1.5 * ran_ns + 1e8

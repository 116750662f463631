"""Launches of torch.distributed processes: groups, scripts, traces and hangs."""

import os
import re
from pathlib import Path

import pytest
from launching import case, run, values

from grader.judge.explanation.bytes_carried import most_by_gloo
from grader.model.report import Outcome, Verdict
from grader.observe.run_control.forkserver_client import ForkserverClient
from grader.recording.launch_plan import Limits


@pytest.fixture(scope="module")
def server():
    """One forkserver with torch for all tests: importing it takes more than a second."""
    with ForkserverClient(["torch"]) as server:
        yield server


def test_the_forkserver_has_one_thread(server):
    """A fork takes only the thread that forks along: locks of others would stay locked."""
    launched = run(
        "def go(comm): return 1", backend="none", ranks=1, server=server, cases=(case(ranks=1),)
    )
    assert launched.failure is None
    tasks = [len(list(Path(f"/proc/{each}/task").iterdir())) for each in _forkservers()]
    assert tasks and set(tasks) == {1}  # those of other modules may be there as well


def _forkservers():
    """Return the pids of our children that fork ranks."""
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    return [
        child for child in children if b"forkserver" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]


def calls(launched, rank=0, index=0):
    """Return (function, peer, line) of a rank's calls in a case."""
    outcome = launched.outcomes[index]
    assert isinstance(outcome, Outcome), outcome
    return [(call.function, call.peer, call.line) for call in outcome.trace.ranks[rank].calls]


def test_a_call_that_is_refused_at_once_has_failed(server):
    """Nothing was sent for it; the next one is a call like any other."""
    launched = run(
        """
        import torch, torch.distributed as dist
        def go(comm):
            try:
                dist.reduce(torch.sparse_coo_tensor(size=(5,)), 0)
            except RuntimeError:
                dist.reduce(torch.ones(5), 0)
        """,
        backend="torch",
        server=server,
    )
    (outcome,) = launched.outcomes
    for seen in outcome.trace.ranks:
        failed, reduced = [call for call in seen.calls if call.function == "reduce"]
        assert (failed.error, reduced.error) == (1, 0)
        assert failed.left_ns > 0


@pytest.mark.parametrize(
    "again", ["work.wait()", "while not work.is_completed(): time.sleep(0.01)"]
)
def test_an_operation_that_is_waited_for_again_has_not_failed(server, again):
    """A wait with a limit gives up; a later one, or who asks, finds that everybody has come."""
    launched = run(
        f"""
        import time, datetime, torch, torch.distributed as dist
        def go(comm):
            total = torch.ones(5)
            if comm.rank:
                time.sleep(0.3)
            work = dist.all_reduce(total, async_op=True)
            try:
                work.wait(datetime.timedelta(milliseconds=50))
            except RuntimeError:
                {again}
            return total[0].item()
        """,
        backend="torch",
        server=server,
    )
    assert values(launched) == [2.0, 2.0]
    seen = [rank.calls for rank in launched.outcomes[0].trace.ranks]
    assert [call.error for calls in seen for call in calls if call.function == "all_reduce"] == [
        0,
        0,
    ]
    assert any(call.error for call in seen[0] if call.function == "wait")


def test_a_functional_collective_is_of_the_group_that_it_names(server):
    """Not all processes are in it, and what they send has to be accounted for all the same."""
    launched = run(
        """
        import torch, torch.distributed as dist
        from torch.distributed._functional_collectives import all_reduce
        def go(comm):
            pair = dist.new_group([0, 1])
            if comm.rank < 2:
                return float(all_reduce(torch.ones(1_000_000), "sum", pair)[0])
        """,
        ranks=3,
        backend="torch",
        server=server,
        cases=(case(ranks=3),),
    )
    assert values(launched)[:2] == [2.0, 2.0]
    trace = launched.outcomes[0].trace
    sizes = [[call.communicator_size for call in seen.calls] for seen in trace.ranks]
    assert sizes == [[2], [2], []]
    assert most_by_gloo(trace) > 2 * 4_000_000


def test_every_case_has_a_group_of_its_own(server):
    """Two cases on three processes: the harness initialises gloo for each."""
    launched = run(
        """
        import torch, torch.distributed as dist
        def go(comm):
            total = torch.tensor([float(comm.rank + 1)])
            dist.all_reduce(total)
            return total.item() + 0 * comm.size
        """,
        ranks=3,
        backend="torch",
        server=server,
        cases=(case("first", 3), case("second", 3)),
    )
    assert launched.failure is None, launched.failure
    assert values(launched, 0) == values(launched, 1) == [6.0, 6.0, 6.0]
    for index in (0, 1):
        assert calls(launched, 2, index) == [("all_reduce", -3, 5)]


def test_point_to_point_calls_are_seen_as_the_student_wrote_them(server):
    """Names, peers, lines, completion: blocking and not, from a named source and from any."""
    launched = run(
        """
        import torch, torch.distributed as dist
        def go(comm):
            box = torch.ones(4)
            if comm.rank == 0:
                dist.send(box, 1)
                dist.isend(box, dst=1, tag=3).wait()
                dist.isend(box, dst=1)
            else:
                dist.recv(box, 0)
                request = dist.irecv(box, src=0, tag=3)
                request.wait()
                dist.recv(box)
        """,
        backend="torch",
        server=server,
    )
    assert launched.failure is None, launched.failure
    assert calls(launched, 0) == [
        ("send", 1, 6),
        ("isend", 1, 7),
        ("wait", -3, 7),
        ("isend", 1, 8),
    ]
    assert calls(launched, 1) == [
        ("recv", 0, 10),
        ("irecv", 0, 11),
        ("wait", -3, 12),
        ("recv", -1, 13),
    ]
    sends = launched.outcomes[0].trace.ranks[0].calls
    assert [call.num_bytes for call in sends if call.is_send] == [16, 16, 16]
    assert [bool(call.completed_ns) for call in sends if call.is_send] == [True, True, False]
    receives = [call for call in launched.outcomes[0].trace.ranks[1].calls if call.is_receive]
    assert [call.matched_source for call in receives] == [0, 0, 0]
    assert [call.matched_tag for call in receives] == [0, 3, 0]


DROPPED = {
    "isend": ("dist.isend(box, dst=1)", "dist.recv(box, 0)", [1.0, 1.0]),
    "irecv": ("dist.irecv(box, 1)", "dist.send(box, 0)", [1.0, 2.0]),
    "all_reduce": ("dist.all_reduce(box, async_op=True)", "dist.all_reduce(box)", [1.0, 3.0]),
}


@pytest.mark.parametrize("dropped", DROPPED)
def test_work_that_is_dropped_goes_on_when_its_rank_has_returned(server, dropped):
    """Gloo has threads of its own; results are what the call left, and no later message."""
    drop, finish, expected = DROPPED[dropped]
    launched = run(
        f"""
        import time
        import torch, torch.distributed as dist
        def go(comm):
            box = torch.full((300_000,), comm.rank + 1.0)
            if comm.rank == 0:
                {drop}
            else:
                time.sleep(0.3)
                {finish}
            return box[-1].item()
        """,
        backend="torch",
        server=server,
        cases=(case("a"), case("b")),
    )
    assert launched.failure is None, launched.failure
    assert [values(launched, i) for i in range(2)] == [expected] * 2


def hang(server, source, *, ranks=2, backend="torch", limit_s=8.0):
    """Return the failure of a submission that does not come to its end."""
    launched = run(
        source,
        ranks=ranks,
        backend=backend,
        server=server,
        limits=Limits(case_s=limit_s),
        cases=(case(ranks=ranks),),
    )
    assert launched.failure is not None, launched
    return launched.failure


def test_a_scatter_that_one_rank_leaves_out_is_a_deadlock(server):
    """Who waits in which operation, at which line, and who never comes."""
    failure = hang(
        server,
        """
        import torch, torch.distributed as dist
        def go(comm):
            box = torch.zeros(2)
            if comm.rank != 2:
                dist.scatter(box, [torch.ones(2)] * 3 if comm.rank == 0 else None, src=0)
        """,
        ranks=3,
    )
    assert failure.verdict is Verdict.DEADLOCK, failure
    assert "waits in scatter(src=0) at work.py:6" in failure.message
    assert "rank 2 has returned without calling scatter" in failure.message


def test_sends_before_receives_are_a_deadlock(server):
    """Gloo's send waits for its receive, however short the message."""
    failure = hang(
        server,
        """
        import torch, torch.distributed as dist
        def go(comm):
            box = torch.zeros(1)
            dist.send(box, 1 - comm.rank)
            dist.recv(box, 1 - comm.rank)
        """,
    )
    assert failure.verdict is Verdict.DEADLOCK, failure
    assert "rank 0 waits in send(dst=1, tag=0) at work.py:5" in failure.message


def test_different_collectives_are_a_deadlock(server):
    """One rank reduces while the other gathers."""
    failure = hang(
        server,
        """
        import torch, torch.distributed as dist
        def go(comm):
            box = torch.zeros(1)
            if comm.rank:
                dist.all_reduce(box)
            else:
                dist.irecv(box, 1).wait()
        """,
    )
    assert failure.verdict is Verdict.DEADLOCK, failure
    assert "rank 0 waits in wait at work.py:8 for irecv(src=1, tag=0)" in failure.message
    assert "rank 1 waits in all_reduce at work.py:6" in failure.message


def test_backward_of_one_rank_alone_is_a_deadlock(server):
    """What DistributedDataParallel waits for inside C++ is known as well."""
    failure = hang(
        server,
        """
        import torch, torch.distributed as dist
        from torch.nn.parallel import DistributedDataParallel
        def go(comm):
            model = DistributedDataParallel(torch.nn.Linear(2, 1))
            loss = model(torch.ones(1, 2)).sum()
            if comm.rank:
                loss.backward()
        """,
    )
    assert failure.verdict is Verdict.DEADLOCK, failure
    assert "rank 1 waits in all_reduce at work.py:8" in failure.message


def test_a_rank_that_polls_for_ever_is_a_deadlock(server):
    """is_completed in a loop is a poll that fails."""
    failure = hang(
        server,
        """
        import torch, torch.distributed as dist
        def go(comm):
            if comm.rank:
                request = dist.irecv(torch.zeros(1), 0)
                while not request.is_completed():
                    pass
        """,
    )
    assert failure.verdict is Verdict.DEADLOCK, failure
    assert "rank 1 polls with is_completed at work.py:6 for irecv(src=0, tag=0)" in failure.message


def test_computing_for_long_is_no_deadlock(server):
    """A rank outside of all calls may still come."""
    failure = hang(
        server,
        """
        import time, torch, torch.distributed as dist
        def go(comm):
            if comm.rank:
                time.sleep(60)
            dist.barrier()
        """,
        limit_s=3.0,
    )
    assert failure.verdict is Verdict.TIME_LIMIT_EXCEEDED, failure
    said = "rank 1 was still computing at work.py:5; rank 0 was still in barrier at work.py:6"
    assert said in failure.message


def test_an_exception_of_one_process_is_told(server):
    """The others wait in vain; what is said is why."""
    failure = hang(
        server,
        """
        import torch, torch.distributed as dist
        def go(comm):
            if comm.rank:
                raise ValueError("no")
            dist.barrier()
        """,
    )
    assert failure.message == "rank 1 raised ValueError: no at work.py:5"


SCRIPTS = {
    "torchrun": """
        import os, torch, torch.distributed as dist
        if __name__ == "__main__":
            dist.init_process_group("gloo")
            answer = torch.tensor([float(os.environ["LOCAL_RANK"])])
            dist.all_reduce(answer)
            answer = answer.item() + int(os.environ["WORLD_SIZE"])
            dist.destroy_process_group()
        """,
    "flags": """
        import argparse, torch, torch.distributed as dist
        def main():
            global answer
            parser = argparse.ArgumentParser()
            parser.add_argument("--master-ip"), parser.add_argument("--num-nodes", type=int)
            parser.add_argument("--rank", type=int)
            given = parser.parse_args()
            dist.init_process_group(backend="gloo", init_method=f"tcp://{given.master_ip}:6585",
                                    world_size=given.num_nodes, rank=given.rank)
            answer = torch.tensor([float(given.rank)])
            dist.all_reduce(answer)
            answer = answer.item() + given.num_nodes
        if __name__ == "__main__":
            main()
        """,
    "spawn": """
        import os, torch, torch.distributed as dist, torch.multiprocessing as mp
        def work(rank, size):
            global answer
            os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "localhost", "29500"
            dist.init_process_group("gloo", rank=rank, world_size=size)
            answer = torch.tensor([float(rank)])
            dist.all_reduce(answer)
            answer = answer.item() + size
        if __name__ == "__main__":
            mp.spawn(work, args=(3,), nprocs=3, join=True)
        """,
}


@pytest.mark.parametrize("style", SCRIPTS)
def test_scripts_run_as_the_sheets_start_them(server, style):
    """The environment of torchrun, flags for each node, mp.spawn: whatever port they name."""
    launched = run(
        SCRIPTS[style],
        ranks=3,
        backend="torch-script",
        server=server,
        cases=(case("a", 3, "node_script"), case("b", 3, "node_script")),
    )
    assert launched.failure is None, launched.failure
    assert values(launched, 0) == values(launched, 1) == [6.0, 6.0, 6.0]


def test_a_real_group_over_a_free_port(server):
    """A standalone run replaces nothing."""
    launched = run(
        SCRIPTS["torchrun"],
        ranks=3,
        backend="torch-script",
        standalone=True,
        server=server,
        cases=(case("a", 3, "bare_script"),),
    )
    assert launched.failure is None, launched.failure
    assert values(launched) == [6.0, 6.0, 6.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("dist.init_process_group('nccl')", "backend='nccl'.*only 'gloo' works"),
        (
            "dist.init_process_group('gloo', rank=0, world_size=4)",
            "world_size=4.*expected world_size=2",
        ),
        ("dist.init_process_group('gloo', rank=0, world_size=2)", "rank=0.* on rank 1 of 2"),
        ("mp.spawn(print, nprocs=5)", "nprocs=5.*expected nprocs=2"),
        (
            "dist.init_process_group('gloo', (FILE, TCP)[RANK], rank=RANK, world_size=2)",
            "rank 1 raised .*rank 0 waits through a file, but init_.* for rank 0 on port 29500 at",
        ),
        (
            "dist.init_process_group('gloo', (TCP, FILE)[RANK], rank=RANK, world_size=2)",
            "rank 1 raised .*rank 0 waits on port 29500, but init_.* rank 0 through a file at",
        ),
    ],
)
def test_a_group_that_would_never_form_is_said_so(server, call, message):
    """Torch itself would wait half an hour for processes that do not exist."""
    failure = hang(
        server,
        f"""
        import os, torch.distributed as dist, torch.multiprocessing as mp
        FILE, TCP = f"file://{{os.getcwd()}}/meet", "tcp://127.0.0.1:29500"
        def go(comm):
            RANK = int(os.environ["RANK"])
            {call}
        """,
        backend="torch-script",
    )
    assert failure.verdict is Verdict.RUN_TIME_ERROR
    assert re.search(message, failure.message), failure.message


NODE = """
    import argparse, os, torch, torch.distributed as dist, torch.multiprocessing as mp
    parser = argparse.ArgumentParser()
    parser.add_argument("--master-ip"), parser.add_argument("--rank", type=int)
    ip, rank = vars(parser.parse_args()).values()
    given = {{"rank": rank, "world_size": 2}}
    def work(rank=rank):
        {start}
        global answer
        answer = torch.ones(1)
        dist.all_reduce(answer)
        answer = answer.item()
        dist.destroy_process_group()
    {call}
"""


def start_nodes(server, start, call="work()"):
    """Run a program on two nodes that are told an address and a rank, and nothing else."""
    return run(
        NODE.format(start=start, call=call),
        backend="torch-script",
        server=server,
        cases=(case("a", 2, "started_nodes"),),
    )


@pytest.mark.parametrize(
    ("start", "call"),
    [
        ("dist.init_process_group('gloo', f'tcp://{ip}:1234', **given)", "work()"),
        ("dist.init_process_group(None, f'tcp://{ip}:1?rank={rank}&world_size=2')", "work()"),
        (
            "os.environ |= {'MASTER_ADDR': ip, 'MASTER_PORT': '29500'}; "
            "dist.init_process_group('gloo', **given)",
            "work()",
        ),
        (
            "dist.init_process_group("
            "'gloo', 'tcp://%s:29500' % (ip if rank else 'localhost'), **given)",
            "work()",
        ),
        (
            "dist.init_process_group('gloo', 'tcp://localhost:29500', rank=rank, world_size=2)",
            "mp.spawn(work, nprocs=2)",
        ),
    ],
)
def test_nodes_meet_by_what_their_command_line_says(server, start, call):
    """By an address with any port, by the environment that they set, by a machine's own name."""
    launched = start_nodes(server, start, call)
    assert launched.failure is None, launched.failure
    assert values(launched) == [2.0, 2.0]


def test_what_one_parent_tells_its_processes_is_one_place(server):
    """Also a port that it has drawn: each rank runs the parent's lines."""
    launched = run(
        """
        import os, random, torch, torch.distributed as dist, torch.multiprocessing as mp
        def work(rank, port):
            os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": port}
            dist.init_process_group("gloo", rank=rank, world_size=2)
            box = torch.ones(1)
            dist.all_reduce(box)
            dist.destroy_process_group()
        mp.spawn(work, args=(str(random.SystemRandom().randint(20000, 60000)),), nprocs=2)
        answer = 2
        """,
        backend="torch-script",
        server=server,
        cases=(case("a", 2, "script"),),
    )
    assert launched.failure is None, launched.failure


@pytest.mark.parametrize("own", [0, 1])
def test_a_store_of_its_own_is_compared_with_nothing(server, own):
    """Who gives one need not say where it is."""
    launched = run(
        f"""
        import os, torch, torch.distributed as dist
        RANK = int(os.environ["RANK"])
        given = {{"rank": RANK, "world_size": 2}}
        if RANK == {own}:
            dist.init_process_group("gloo", store=dist.HashStore(), **given)
        else:
            dist.init_process_group("gloo", "tcp://127.0.0.1:29500", **given)
        answer = 2
        """,
        backend="torch-script",
        server=server,
        cases=(case("a", 2, "script"),),
    )
    assert launched.failure is None, launched.failure


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (
            "dist.init_process_group('gloo', f'tcp://{ip}', **given)",
            "ValueError: .*tcp:// rendezvous: port number missing at work.py:8; "
            ".* address and port of rank 0 .*starts the program as `python work.py --master-ip",
        ),
        ("dist.init_process_group('gloo', f'tcp://{ip}:x', **given)", "ValueError: Port could not"),
        ("dist.init_process_group('gloo', f'tcp://{ip}:70000', **given)", "Port out of range"),
        (
            "dist.init_process_group('gloo', f'tcp://{ip}:0', **given)",
            "looks for rank 0 at 127.0.0.2:0, not at 127.0.0.2:PORT at work.py:8; init_process",
        ),
        (
            "dist.init_process_group('gloo', 'tcp://127.0.0.1:29500', **given)",
            "rank 1 raised .* rank 0 at 127.0.0.1:29500, not at 127.0.0.2:PORT at work.py:8; init",
        ),
        (
            "dist.init_process_group('gloo', f'tcp://{ip}:{29500 + rank}', **given)",
            "rank 1 raised .* on port 29500, but .* for rank 0 on port 29501 at work.py:8; ",
        ),
        (
            "dist.init_process_group('gloo', f'tcp://{ip}:29500', rank=rank)",
            "world size parameter missing",
        ),
        (
            "dist.init_process_group('gloo', f'file://{os.getcwd()}/meet', **given)",
            "looks for rank 0 through a file, not at 127.0.0.2:PORT at",
        ),
        (
            "dist.init_process_group('gloo')",
            "env:// rendezvous: environment variable RANK expected, but not set at",
        ),
        (
            "dist.init_process_group('gloo', **given)",
            "environment variable MASTER_ADDR expected, but not set at",
        ),
        (
            "int(os.environ['LOCAL_RANK'])",
            "KeyError: .*starts the program as `python work.py --master-ip",
        ),
    ],
)
def test_nodes_that_would_not_meet_are_told_why(server, start, message):
    """What torch would raise is raised, and so is what it would wait for."""
    failure = start_nodes(server, start).failure
    assert failure is not None
    assert failure.verdict is Verdict.RUN_TIME_ERROR
    assert re.search(message, failure.message), failure.message


def test_alone_there_is_nobody(server):
    """No MPI, no group, no trace; several processes of their own may be started."""
    launched = run(
        """
        import torch.multiprocessing as mp
        def double(box): box.mul_(2)
        def go(comm):
            import torch
            box = torch.ones(3).share_memory_()
            for start in (mp.get_context("fork"), mp.get_context("spawn")):
                child = start.Process(target=double, args=(box,))
                child.start(); child.join()
                assert child.exitcode == 0
            return box.sum().item() if comm is None else -1
        """,
        ranks=1,
        backend="none",
        server=server,
        cases=(case(ranks=1),),
    )
    assert launched.failure is None, launched.failure
    assert values(launched) == [12.0]


@pytest.mark.parametrize("call", ["torch.ones(1).cuda()", "torch.ones(1, device='cuda')"])
def test_asking_for_a_gpu_has_a_sentence_of_its_own(server, call):
    """Torch's own words do not say what to do."""
    failure = hang(server, f"import torch\ndef go(comm): {call}", backend="none", ranks=1)
    assert failure.verdict is Verdict.RUN_TIME_ERROR
    assert failure.message.startswith(
        "rank 0 asked for a GPU (.cuda() or device 'cuda') at work.py:2;"
    )


def test_many_cases_in_a_row_find_their_group(server):
    """A group's store is not taken away by a slower rank of the case before."""
    launched = run(
        "def go(comm): return 1",
        backend="torch",
        server=server,
        limits=Limits(case_s=20),
        cases=tuple(case(f"case {number}") for number in range(60)),
    )
    assert launched.failure is None, launched.failure
    assert len(launched.outcomes) == 60


def test_groups_do_not_pile_up(server):
    """What a case leaves unwaited, DistributedDataParallel's own operations too, is let go of."""
    launched = run(
        """
        import os, torch, torch.distributed as dist
        from torch.nn.parallel import DistributedDataParallel
        def go(comm):
            model = DistributedDataParallel(torch.nn.Linear(2, 1))
            model(torch.ones(1, 2)).sum().backward()
            dist.all_reduce(torch.ones(3), async_op=True)
            dist.isend(torch.ones(1), 1 - comm.rank)
            return len(os.listdir("/proc/self/fd"))
        """,
        backend="torch",
        server=server,
        cases=tuple(case(f"case {number}") for number in range(16)),
    )
    assert launched.failure is None, launched.failure
    # Six for each group; one that is still in use when the next case begins goes a case later.
    assert max(values(launched, 15)) <= max(values(launched, 1)) + 18


def test_what_a_thread_does_is_seen(server):
    """A collective in another thread is in the trace like any other."""
    launched = run(
        """
        import threading, torch, torch.distributed as dist
        def go(comm):
            box = torch.ones(1)
            thread = threading.Thread(target=lambda: dist.all_reduce(box))
            thread.start(); thread.join()
            return box.item()
        """,
        backend="torch",
        server=server,
    )
    assert values(launched) == [2.0, 2.0]
    assert calls(launched) == [("all_reduce", -3, 5)]


@pytest.mark.parametrize(
    "late",
    [
        "threading.Thread(target=later).start(); dist.recv(box, 1)",
        "request = dist.irecv(box, 1); request.is_completed(); later(); request.wait()",
        "request = dist.irecv(box, 1); wait_a_little(request); later(); request.wait()",
        "dist.group.WORLD.send([box], 1, 5); later(); dist.recv(box, 1)",
    ],
)
def test_a_rank_that_still_does_something_is_not_stuck(server, late):
    """A thread that sends later, a poll before a computation, a wait that gives up."""
    launched = run(
        f"""
        import threading, time, torch, torch.distributed as dist
        from datetime import timedelta
        def wait_a_little(request):
            try:
                request.wait(timedelta(seconds=1.2))
            except RuntimeError:
                pass
        def go(comm):
            box = torch.ones(1)
            def later():
                time.sleep(1.2)
                dist.send(torch.ones(1), 1)
            if comm.rank == 0:
                {late}
            else:
                dist.recv(box, 0)
                if "WORLD" in {late!r}:
                    dist.recv(box, 0, tag=5)
                dist.send(box, 0)
            return 1
        """,
        backend="torch",
        server=server,
    )
    failure = launched.failure
    assert failure is None or failure.verdict is not Verdict.DEADLOCK, failure


@pytest.mark.parametrize(
    "end", ["raise ValueError('my own bug')", "os._exit(3)", "os.kill(os.getpid(), 9)"]
)
def test_the_rank_that_ended_speaks_not_those_that_lost_it(server, end):
    """Gloo's own words about a closed connection are only a consequence."""
    failure = hang(
        server,
        f"""
        import os, torch, torch.distributed as dist
        def go(comm):
            try:
                if comm.rank:
                    {end}
                dist.all_reduce(torch.ones(1))
            finally:
                dist.destroy_process_group()
        """,
    )
    assert failure.verdict is Verdict.RUN_TIME_ERROR
    assert failure.message.startswith("rank 1 "), failure.message

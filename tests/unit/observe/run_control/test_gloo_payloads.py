"""What gloo sends leaves altered where the judge says so, and nothing else does."""

import pytest
from launching import case, run, values

from grader.model.report import MessageFault
from grader.observe.run_control.forkserver_client import ForkserverClient
from grader.trace.layout import GLOO_OPERATIONS

RANKS = 3


@pytest.fixture(scope="module")
def server():
    """One forkserver with torch for all tests: importing it takes more than a second."""
    with ForkserverClient(["torch"]) as server:
        yield server


@pytest.fixture
def altered(server):
    """Return `altered(program, *operations, **fields of the fault)`: values by rank, and how many.

    program: the lines of `go`, which have `rank`, `data` and `torch`; `differing` of two tensors is
    how many of their elements are not equal. Rank 0's payloads are altered.
    """

    def launch(program, *operations, position=0.5, **fault):
        lines = "\n".join(f"    {line}" for line in program.strip().splitlines())
        source = (
            "import torch, torch.distributed as dist\n"
            "def differing(one, other): return (one != other).sum().item()\n"
            "def go(comm):\n"
            "    rank, size = comm.rank, comm.size\n"
            "    data = torch.arange(1000, dtype=torch.float32)\n" + lines
        )
        message = MessageFault(0, None, position, operations=operations, **fault)
        cases = (case("altered", RANKS, message_fault=message), case("not", RANKS))
        launched = run(source, ranks=RANKS, backend="torch", server=server, cases=cases)
        assert launched.failure is None, launched.failure
        assert values(launched, 1) == [0] * RANKS, "what was not altered is not what it was"
        return values(launched), launched.outcomes[0].num_altered

    return launch


PROGRAMS = {
    "message": """
if rank == 0:
    dist.send(data, 1)
if rank == 1:
    got = torch.zeros_like(data)
    dist.recv(got, 0)
return differing(data, got) if rank == 1 else differing(data, torch.arange(1000.0))
""",
    "broadcast": """
got = data.clone() if rank == 0 else torch.zeros_like(data)
dist.broadcast(got, 0)
return differing(got, data)
""",
    "gather": """
got = [torch.zeros_like(data) for _ in range(size)] if rank == 1 else None
dist.gather(data, got, 1)
return differing(torch.stack(got), data.expand(size, -1)) if rank == 1 else 0
""",
    "scatter": """
got = torch.zeros_like(data)
dist.scatter(got, [data] * size if rank == 0 else None, 0)
return differing(got, data)
""",
    "all_gather": """
got = [torch.zeros_like(data) for _ in range(size)]
dist.all_gather(got, data)
return differing(torch.stack(got), data.expand(size, -1))
""",
    "reduce": """
got = data.clone()
dist.reduce(got, 1)
return differing(got, data * size) if rank == 1 else 0
""",
    "all_reduce": """
got = data.clone()
dist.all_reduce(got)
return differing(got, data * size)
""",
    "all_to_all": """
got, given = torch.zeros(3000), data.repeat(size)
dist.all_to_all_single(got, given)
return differing(got, given)
""",
}


@pytest.mark.parametrize("operation", PROGRAMS)
def test_every_operation_can_be_altered(altered, operation):
    """Others see it, the sender's own array stays; of another operation nothing changes."""
    found, num_altered = altered(PROGRAMS[operation], operation)
    assert any(found), found
    assert num_altered >= 1
    others = tuple(each for each in PROGRAMS if each != operation)
    assert altered(PROGRAMS[operation], *others) == ([0] * RANKS, 0)


def test_eight_bytes_of_a_message_change(altered):
    """Two numbers of float32, in the middle; the sender's stay as they are."""
    found, num_altered = altered(PROGRAMS["message"], "message")
    assert (found, num_altered) == ([0, 2, 0], 1)


def test_short_payloads_are_left_alone(altered):
    """Lengths and the like are shorter than what the case is about."""
    found, num_altered = altered(PROGRAMS["message"], "message", min_num_bytes=4001)
    assert (found, num_altered) == ([0] * RANKS, 0)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("value", ["0.0", "1e-4", "-0.5", "3.0", "-70.0"])
def test_any_floating_point_number_changes_visibly(altered, dtype, value):
    """By 2 or more, to one that people compute with."""
    program = f"""
data = torch.full((100,), {value}, dtype=torch.{dtype})
got = data.clone() if rank == 0 else torch.zeros_like(data)
dist.broadcast(got, 0)
change = (got.double() - data.double()).abs().max().item()
return change if change == 0 else (change >= 2) + 2 * bool(got.abs().max() < 1e5)
"""
    found, num_altered = altered(program, "broadcast")
    assert found == [0, 3, 3]
    assert num_altered == 2


@pytest.mark.parametrize(("length", "expected"), [(1, 1), (2, 2), (3, 2)])
def test_the_shortest_payloads(altered, length, expected):
    """A single number is all there is to change."""
    program = f"""
data = torch.ones({length})
got = data.clone() if rank == 0 else torch.zeros_like(data)
dist.broadcast(got, 0)
return differing(got, data)
"""
    assert altered(program, "broadcast")[0] == [0, expected, expected]


@pytest.mark.parametrize("position", [0.0, 0.37, 0.999999])
def test_long_payloads_go_in_parts(altered, position):
    """Of 16 MB, which no socket takes in one go, exactly two numbers change, wherever they are."""
    program = """
data = torch.arange(4_000_000, dtype=torch.float32) + 1
got = data.clone() if rank == 0 else torch.zeros_like(data)
dist.broadcast(got, 0)
return differing(got, data)
"""
    found, num_altered = altered(program, "broadcast", position=position)
    assert (found, num_altered) == ([0, 2, 2], 2)


def test_only_the_message_of_that_number_is_altered(server):
    """They are counted from 0."""
    source = """
    import torch, torch.distributed as dist
    def go(comm):
        wrong = 0
        for number in range(4):
            data = torch.full((50,), 1.0 if comm.rank == 0 else 0.0)
            dist.broadcast(data, 0)
            wrong += (number + 1) * bool((data != 1).any())
        return wrong
    """
    message = MessageFault(0, 2, operations=("broadcast",))
    cases = (case("altered", message_fault=message),)
    launched = run(source, backend="torch", server=server, cases=cases)
    assert values(launched) == [0, 3]
    assert launched.outcomes[0].num_altered == 1


def test_the_store_is_left_alone(altered):
    """Processes meet by it; it goes over the same network."""
    program = """
store = dist.distributed_c10d._get_default_store()
for number in range(50):
    store.set(f"{rank}-{number}", "x" * (number * 40))
wrong = 0
for number in range(50):
    for other in range(size):
        wrong += store.get(f"{other}-{number}") != b"x" * (number * 40)
group = dist.new_group(range(size))
dist.barrier(group)
return wrong
"""
    assert altered(program, *GLOO_OPERATIONS) == ([0] * RANKS, 0)


def test_outside_of_the_phase_nothing_is_altered(server):
    """What the harness and the probes send is theirs."""
    probes = """
import numpy as np, torch, torch.distributed as dist

def call(student, comm, *, number):
    go = student.function("work.py", "go")
    data = torch.full((100,), 1.0 if comm.rank == 0 else 0.0)
    dist.broadcast(data, 0)
    with student.phase():
        go(comm)
        with student.outside():
            dist.broadcast(data, 0)
    dist.broadcast(data, 0)
    return {"value": np.asarray(float((data != 1).sum()))}
"""
    message = MessageFault(0, None, operations=("broadcast",))
    launched = run(
        "def go(comm): pass",
        backend="torch",
        server=server,
        cases=(case("altered", message_fault=message),),
        probes={"__init__": probes},
    )
    assert launched.failure is None, launched.failure
    assert values(launched) == [0, 0]
    assert launched.outcomes[0].num_altered == 0


def test_no_group_has_the_identity_of_an_earlier_one(server):
    """A submission may remember groups by it; each alteration is a case in the same processes."""
    source = """
    import torch, torch.distributed as dist
    groups = {}
    def go(comm):
        world = id(dist.group.WORLD)
        if world not in groups:
            groups[world] = dist.new_group()
        dist.all_reduce(torch.ones(1), group=groups[world])
        return len(groups)
    """
    cases = tuple(case(f"case {number}") for number in range(12))
    launched = run(source, backend="torch", server=server, cases=cases)
    assert launched.failure is None, launched.failure
    assert [values(launched, number) for number in range(12)] == [[n, n] for n in range(1, 13)]

"""Messages that leave a rank altered: what changes in them, and what does not."""

import pytest

from grader.model.report import MessageFault

from .launch import named

HEAD = """
from mpi4py import MPI
import numpy as np
import pickle
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
judge.send(b"."), judge.recv(1)
MPI.Pcontrol(1)

def differing(found, expected):
    return [int(i) for i in np.flatnonzero(np.ravel(found) != np.ravel(expected))]
"""

EVERY_WAY = {
    "Send": "comm.Send(data, dest=1)",
    "Ssend": "comm.Ssend(data, dest=1)",
    "Rsend": "comm.Rsend(data, dest=1)",
    "Isend": "comm.Isend(data, dest=1).Wait()",
    "Issend": "comm.Issend(data, dest=1).Wait()",
    "Irsend": "comm.Irsend(data, dest=1).Wait()",
    "Bsend": "comm.Bsend(data, dest=1)",
    "Ibsend": "comm.Ibsend(data, dest=1).Wait()",
    "Sendrecv": "comm.Sendrecv(data, dest=1, recvbuf=None, source=MPI.PROC_NULL)",
    "Sendrecv_replace": "comm.Sendrecv_replace(data.copy(), dest=1, source=MPI.PROC_NULL)",
    "Isendrecv": "comm.Isendrecv(data, dest=1, recvbuf=None, source=MPI.PROC_NULL).Wait()",
    "Isendrecv_replace": "comm.Isendrecv_replace(data.copy(), 1, source=MPI.PROC_NULL).Wait()",
    "Start": "each = comm.Send_init(data, dest=1); each.Start(); each.Wait(); each.Free()",
    "Startall": """requests = [comm.Ssend_init(data, dest=1)]
    MPI.Prequest.Startall(requests); MPI.Request.Waitall(requests); requests[0].Free()""",
}


@pytest.fixture
def altered(launch):
    """Return `altered(program, number, ranks, **fields of a fault of rank 0)`: the finished run."""

    def start(program, number, ranks=2, synchronous=False, **where):
        with launch(HEAD + program, ranks, synchronous_sends=synchronous) as run:
            for each in range(ranks):
                run.hear(each)
            run.memories[0].alter(MessageFault(0, number, **where))
            for each in range(ranks):
                run.say(each)
            traces = run.finish()
            memory = run.memories[0]
            return traces, memory.num_altered()

    return start


@pytest.mark.parametrize("synchronous", [False, True])
@pytest.mark.parametrize("num_elements", [10, 30_000])
def test_every_kind_of_send_can_be_altered(altered, num_elements, synchronous):
    """The receiver finds exactly one element changed; the sender's array stays as it was."""
    tries = "\n".join(
        f"""
if rank == 0:
    {call}
    assert (data == np.arange({num_elements})).all(), "{name}"
else:
    found = np.full({num_elements}, -1.0)
    comm.Recv(found, source=0)
    assert differing(found, data) == [{num_elements // 2}], ("{name}", differing(found, data))
"""
        for name, call in EVERY_WAY.items()
        if "rsend" not in name.lower()  # a ready send needs its receive to be there before
    )
    traces, num_altered = altered(
        f"data = np.arange({num_elements}, dtype=float)\nMPI.Attach_buffer(bytearray(1 << 20))\n"
        + tries,
        None,
        synchronous=synchronous,
        position=0.5,
    )
    sent = {call.function for call in traces[0].calls if call.is_send}
    expected = {name for name in EVERY_WAY if "rsend" not in name.lower()}
    assert sent == expected
    assert num_altered == len(expected)
    assert {call.num_bytes for call in traces[0].calls if call.is_send} == {8 * num_elements}


@pytest.mark.parametrize("way", ["Rsend", "Irsend"])
def test_ready_sends_can_be_altered(altered, way):
    """The receive is posted before the send begins."""
    program = f"""
data, found = np.arange(4.0), np.zeros(4)
request = comm.Irecv(found, source=0) if rank == 1 else None
MPI.Pcontrol(2), comm.Barrier(), MPI.Pcontrol(1)
if rank == 0:
    {EVERY_WAY[way]}
else:
    request.Wait()
    assert differing(found, data) == [3], found
"""
    _, num_altered = altered(program, 0, position=0.99)
    assert num_altered == 1


@pytest.mark.parametrize("num_messages", [1, 2])
def test_only_the_ordered_sends_are_altered(altered, num_messages):
    """Sends are counted in the student's phase alone, and short ones are not."""
    program = f"""
last = {num_messages}
data = np.arange(8.0)
MPI.Pcontrol(0)
exchanged = comm.sendrecv(rank, dest=1 - rank, source=1 - rank)
MPI.Pcontrol(1)
for number in range(4):
    if rank == 0:
        comm.Send(data[:1], dest=1)
        comm.Send(data, dest=1)
    else:
        short, found = np.zeros(1), np.zeros(8)
        comm.Recv(short, source=0), comm.Recv(found, source=0)
        assert short[0] == 0
        assert differing(found, data) == ([0] if 1 <= number <= last else []), number
"""
    _, num_altered = altered(program, 1, num_messages=num_messages, min_num_bytes=16)
    assert num_altered == num_messages


def test_persistent_requests_send_what_the_array_holds_at_each_start(altered):
    """Of three starts the second one is altered; the datatype may be freed before."""
    program = """
data = np.zeros((3, 4))
if rank == 0:
    column = MPI.DOUBLE.Create_vector(3, 1, 4).Commit()
    request = comm.Send_init([data, 1, column], dest=1)
    column.Free()
    for number in range(3):
        data[:] = number
        request.Start()
        request.Wait()
    request.Free()
else:
    for number in range(3):
        found = np.zeros(3)
        comm.Recv(found, source=0)
        assert differing(found, np.full(3, number)) == ([2] if number == 1 else []), found
"""
    _, num_altered = altered(program, 1, position=0.7)
    assert num_altered == 1


def test_a_persistent_request_from_before_cannot_be_altered(altered):
    """It is bound to the array itself: the judge is told so."""
    program = """
MPI.Pcontrol(0)
data = np.ones(4)
request = comm.Send_init(data, dest=1) if rank == 0 else comm.Recv_init(data, source=0)
MPI.Pcontrol(1)
request.Start()
request.Wait()
assert (data == 1).all()
"""
    _, num_altered = altered(program, None)
    assert num_altered == 0


@pytest.mark.parametrize(
    ("make", "change"),
    [
        ("np.array([3.0, -0.5, 0.0])", "[3.0, -1.5, 0.0]"),
        ("np.array([3.0, -8.0, 0.0])", "[3.0, -16.0, 0.0]"),
        ("np.array([0.0, 1e308, 0.0])", "[0.0, 5e307, 0.0]"),
        ("np.array([0.0, np.inf, 0.0])", "[0.0, 1.0, 0.0]"),
        ("np.array([0.0, np.nan, 0.0])", "[0.0, 1.0, 0.0]"),
        ("np.array([1, 2, 3], np.float32)", "[1, 4, 3]"),
        ("np.array([1, 3e38, 3], np.float32)", "np.array([1, 1.5e38, 3], np.float32)"),
        ("np.array([1, 2, 3], np.longdouble)", "[1, 4, 3]"),
        ("np.array([2**58, -1, 3])", "[2**58, -2, 3]"),
        ("np.array([7, 6, 5], np.int16)", "[7, 7, 5]"),
        ("np.array([0, 1, 0], np.uint32)", "[0, 0, 0]"),
    ],
)
def test_what_a_number_becomes(altered, make, change):
    """A float moves by 1 or by its own size and stays finite; an integer loses or gains a 1."""
    program = f"""
data = {make}
if rank == 0:
    comm.Send(data, dest=1)
else:
    found = np.zeros_like(data)
    comm.Recv(found, source=0)
    assert (found == {change}).all(), found
"""
    _, num_altered = altered(program, 0, position=0.4)
    assert num_altered == 1


def test_complex_numbers_and_bytes(altered):
    """Half of a complex number changes; bytes that hold floats hold usual floats afterwards."""
    program = """
single = np.array([0.02, 3.0, 1e-9, 0.0, 5e-3, 7.0], np.float32)
double = np.array([0.02, 3.0, 1e-12, 0.0])
both = np.array([1 + 2j, 3 + 4j])
for data in (both, single.view(np.uint8), double.view(np.uint8), np.arange(5, dtype=np.uint8)):
    if rank == 0:
        comm.Send(data, dest=1)
    else:
        found = np.zeros_like(data)
        comm.Recv(found, source=0)
        assert differing(found, data), data
        for width in (np.float32, np.float64):
            if data.nbytes == {np.float32: 24, np.float64: 32}[width] and data.dtype == np.uint8:
                before, after = data.view(width), found.view(width)
                changed = np.abs(after.astype(float) - before)
                assert np.isfinite(after).all() and changed.max() > 0.5, (before, after)
                assert changed.max() < 1e6, (before, after)
"""
    for position in (0.0, 0.4, 0.99):
        _, num_altered = altered(program, None, position=position)
        assert num_altered == 4


def test_derived_datatypes(altered):
    """The elements of a made type are those that it is made of, wherever they lie."""
    program = """
matrix = np.arange(24.0).reshape(4, 6)
column = MPI.DOUBLE.Create_vector(4, 1, 6).Create_resized(0, 8).Commit()
block = MPI.DOUBLE.Create_subarray([4, 6], [2, 3], [1, 2]).Commit()
few = MPI.DOUBLE.Create_contiguous(3).Commit()
offsets = [0, 24]
mixed = MPI.Datatype.Create_struct([1, 1], offsets, [few, MPI.DOUBLE]).Commit()
expected = [matrix[:, 0], matrix[1:3, 2:5], matrix[0, :3], matrix[0, :4]]
for made, elements in zip((column, block, few, mixed), expected):
    if rank == 0:
        comm.Send([matrix, 1, made], dest=1)
        assert (matrix == np.arange(24.0).reshape(4, 6)).all()
    else:
        found = np.zeros(elements.size)
        comm.Recv(found, source=0)
        (index,) = differing(found, elements)
        assert index == elements.size // 2
        assert found[index] - elements.ravel()[index] == max(1, elements.ravel()[index])
"""
    _, num_altered = altered(program, None, position=0.5)
    assert num_altered == 4


def test_pickles_stay_loadable(altered):
    """Of the longest array of an object one element changes; of mere floats one; the rest stays."""
    program = """
import array
objects = [
    np.arange(20.0),
    (0.5, [np.arange(3.0), np.arange(400.0).reshape(20, 20)]),
    {"data": bytearray(np.arange(9.0).tobytes()), "note": "x" * 400},
    np.arange(50.0)[::2],
    [1.5, 2.5, 3.5],
]
for sent in objects:
    if rank == 0:
        comm.send(sent, dest=1)
        comm.isend(sent, dest=1).wait()
    else:
        for found in (comm.recv(source=0), comm.irecv(1 << 16, source=0).wait()):
            if isinstance(sent, np.ndarray):
                assert differing(found, sent) == [len(sent) // 2], found
            elif isinstance(sent, tuple):
                assert found[0] == 0.5 and (found[1][0] == np.arange(3)).all()
                assert differing(found[1][1], sent[1][1]) == [200]
            elif isinstance(sent, dict):
                assert found["note"] == sent["note"]
                assert differing(np.frombuffer(found["data"]), np.arange(9)) == [4]
            else:
                assert found == [1.5, 5.0, 3.5], found
"""
    _, num_altered = altered(program, None, position=0.5)
    assert num_altered == 10


def test_a_pickle_without_numbers_cannot_be_altered(altered):
    """Words and small whole numbers stay what they are: the judge is told."""
    program = """
for sent in ("stop", None, {"step": 3}, (1, 2)):
    if rank == 0:
        comm.send(sent, dest=1)
    else:
        assert comm.recv(source=0) == sent
"""
    _, num_altered = altered(program, None)
    assert num_altered == 0


def test_pickled_tensors_of_torch_stay_loadable(altered):
    """The file inside such a pickle keeps its head; an element of the storage changes."""
    pytest.importorskip("torch")
    program = """
import torch
for sent in (torch.arange(30.0), torch.arange(30.0, dtype=torch.float64)):
    if rank == 0:
        comm.send({"weight": sent, "bias": sent[:2].clone()}, dest=1)
    else:
        found = comm.recv(source=0)
        assert (found["bias"] == sent[:2]).all()
        changed = (found["weight"] != sent).nonzero().ravel().tolist()
        assert changed and set(changed) <= {14, 15}, changed
        assert (found["weight"] - sent).abs().max() >= 0.5
"""
    _, num_altered = altered(program, None, position=0.5)
    assert num_altered == 2


def test_empty_messages_are_not_counted(altered):
    """Nor are those to PROC_NULL, which mpi4py makes empty."""
    program = """
data = np.ones(3)
if rank == 0:
    comm.Send(data[:0], dest=1)
    comm.Send(data, dest=MPI.PROC_NULL)
    comm.Send(data, dest=1)
else:
    comm.Recv(np.zeros(0), source=0)
    found = np.zeros(3)
    comm.Recv(found, source=0)
    assert differing(found, data) == [0]
"""
    traces, num_altered = altered(program, 0)
    assert num_altered == 1
    assert [call.num_bytes for call in named(traces[0], "Send")] == [0, 0, 24]


def test_the_next_case_begins_anew(launch):
    """An order that is withdrawn alters nothing, and a new one counts from the first send again."""
    program = """
data = np.ones(3)
for case in range(3):
    if rank == 0:
        comm.Send(data, dest=1)
    else:
        found = np.zeros(3)
        comm.Recv(found, source=0)
        assert differing(found, data) == ([] if case == 1 else [0])
    judge.send(b"."), judge.recv(1)
"""
    with launch(HEAD + program, 2) as run:
        memory = run.memories[0]
        for order in (True, False, True, False):
            for rank in range(2):
                run.hear(rank)
            if order:
                memory.alter(MessageFault(0, 0))
            else:
                memory.alter_nothing()
            for rank in range(2):
                run.say(rank)
        run.finish()
        assert memory.num_altered() == 0


# What is given to collectives -----------------------------------------------------------------

SUM = "[12.0, 9.0]"
"""Of [1, 2] from rank 0, of which the first becomes 2, and [10, 7] from rank 1."""
COLLECTIVES = {
    "Allreduce": f"comm.Allreduce(data, found) or (found == {SUM}).all()",
    "Iallreduce": f"comm.Iallreduce(data, found).Wait() and (found == {SUM}).all()",
    "Allreduce in place": f"comm.Allreduce(MPI.IN_PLACE, data) or (data == {SUM}).all()",
    "Reduce": f"comm.Reduce(data, found, root=1) or rank == 0 or (found == {SUM}).all()",
    "Ireduce": f"comm.Ireduce(data, found).Wait() and (rank == 1 or (found == {SUM}).all())",
    "Scan": f"comm.Scan(data, found) or (found == ({SUM} if rank else [2, 2])).all()",
    "Exscan": "comm.Exscan(data, found) or rank == 0 or (found == [2, 2]).all()",
    "Allgather": "comm.Allgather(data, both) or (both == [2, 2, 10, 7]).all()",
    "Iallgather": "comm.Iallgather(data, both).Wait() and (both == [2, 2, 10, 7]).all()",
    "Allgatherv": "comm.Allgatherv(data, [both, (2, 2)]) or (both == [2, 2, 10, 7]).all()",
    "Gather": "comm.Gather(data, both, root=1) or rank == 0 or (both == [2, 2, 10, 7]).all()",
    "Igatherv": "comm.Igatherv(data, [both, (2, 2)]).Wait() and (rank or both[0] == 2)",
    "Bcast": "comm.Bcast(data) or (data == ([2, 2] if rank else [1, 2])).all()",
    "Ibcast": "comm.Ibcast(data).Wait() and (data == ([2, 2] if rank else [1, 2])).all()",
    "allgather": "comm.allgather(data)[0][0] not in (1, 10)",
    "bcast": "(comm.bcast(data)[0] == 1) == (rank == 0)",
}


def test_what_a_rank_gives_to_a_collective_can_be_altered(altered):
    """All others get the changed element; the rank's own array stays, and messages do."""
    program = "\n".join(
        f"""
data = np.array([1.0, 2.0] if rank == 0 else [10.0, 7.0])
found, both = np.zeros(2), np.zeros(4)
if not ({call}):
    raise SystemExit(print("{name}", data, found, both, flush=True) or comm.Abort(1))
assert "place" in "{name}" or rank or (data == [1, 2]).all(), ("{name}", data)
"""
        for name, call in COLLECTIVES.items()
    )
    program += """
comm.Send(data, dest=1) if rank == 0 else comm.Recv(found, source=0)
assert rank == 0 or (found == [1, 2]).all()
"""
    _, num_altered = altered(program, None, of_collectives=True, min_num_bytes=16)
    assert num_altered == len(COLLECTIVES)


def test_only_the_ordered_contributions_are_altered(altered):
    """Broadcasts of others are not counted, and neither is what is too short."""
    program = """
for number in range(4):
    data, found = np.array([1.0, 2.0]), np.zeros(2)
    comm.Allreduce(data[:1].copy(), found[:1])
    comm.Bcast(np.zeros(2), root=1)
    comm.Allreduce(data, found)
    assert (found[0] != 2) == (1 <= number <= 2), number
"""
    _, num_altered = altered(program, 1, num_messages=2, of_collectives=True, min_num_bytes=16)
    assert num_altered == 2


def test_a_long_contribution_in_place_stays_in_place(altered):
    """Open MPI hangs where one rank gives a copy, and the others give in place."""
    program = """
data = np.ones(62_007)
comm.Iallreduce(MPI.IN_PLACE, data).Wait()
assert data.max() > 4
"""
    _, num_altered = altered(program, None, ranks=4, of_collectives=True)
    assert num_altered == 1

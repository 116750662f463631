"""What is sampled of the contents of messages."""

import re
import struct

import numpy as np
import pytest

HEAD = """
import pickle
from mpi4py import MPI
import numpy as np
comm = MPI.COMM_WORLD
rank, numbers = comm.rank, np.arange(100, dtype="f8") + 0.5
peer = 1 - rank
taken = np.empty(1000)
"""


def numbers_of(call):
    """Return the samples of a call as float64."""
    words = call.sample_first, call.sample_middle, call.sample_last
    return struct.unpack("<3d", struct.pack("<3q", *words))


def sampled(launch, program, *functions):
    """Return what each send of rank 0 was sampled as, or each call of these functions."""
    with launch(HEAD + program, 2) as run:
        trace, _ = run.finish()
        return [call for call in trace.calls if call.is_send or call.function in functions]


def assert_from_each_third(numbers):
    """Assert that samples of 0.5, ..., 99.5 are one from each third; 33.5 and 66.5 lie in two."""
    first, middle, last = (number - 0.5 for number in numbers)
    assert first in range(34) and middle in range(33, 67) and last in range(66, 100)


@pytest.mark.parametrize(
    "send",
    [
        "comm.Isend(numbers, dest=peer)",
        "comm.Isend(numbers.tobytes(), dest=peer)",
        "comm.Issend([numbers, 1, MPI.DOUBLE.Create_contiguous(100).Commit()], dest=peer)",
        "comm.isend(numbers, dest=peer)",
        "comm.isend((3, numbers.tobytes()), dest=peer)",
        "comm.isend({'a': numbers[:50], 'b': pickle.dumps([b'', numbers])}, dest=peer)",
        "comm.isend(bytearray(pickle.dumps((pickle.dumps(numbers, 3), 5))), dest=peer)",
        "comm.Isend(pickle.dumps(pickle.dumps(numbers)), dest=peer)",
        "comm.Isend([np.repeat(numbers, 3), 1, MPI.DOUBLE.Create_vector(100, 1, 3).Commit()],"
        " dest=peer)",
        "comm.Isend([packed, MPI.PACKED], dest=peer)",
        "started()",
    ],
)
def test_samples_are_those_of_the_numbers_sent(send, launch):
    """In every form: basic, untyped, derived with and without gaps, pickled, packed, persistent."""
    program = f"""
packed = bytearray(MPI.DOUBLE.Pack_size(100, comm))
MPI.DOUBLE.Pack(numbers, packed, 0, comm)
def started():
    request = comm.Send_init(numbers, dest=peer)
    request.Start()
    return request
if rank == 0:
    request = {send}
    request.Wait()
else:
    comm.Recv([taken, MPI.BYTE], source=peer)
"""
    (call,) = sampled(launch, program)
    assert call.sampled_num_bytes == 800
    assert_from_each_third(numbers_of(call))


def test_numbers_that_are_pickled_one_by_one_are_sampled(launch):
    """One from each third, also of pickles within a pickle; whole numbers are not."""
    program = """
objects = [
    numbers.tolist(),
    (numbers[:1], list(numbers[1:])),
    [pickle.dumps(numbers[:50].tolist()), pickle.dumps(numbers[50:].tolist())],
    [1, 2, 3],
    list(numbers.astype("f4")),
]
for each in objects:
    comm.send(each, dest=peer) if rank == 0 else comm.recv(source=peer)
"""
    floats, scalars, nested, others, singles = sampled(launch, program)
    for each in floats, scalars, nested:
        assert_from_each_third(numbers_of(each))
    assert others.sampled_num_bytes == 0
    words = singles.sample_first, singles.sample_middle, singles.sample_last
    pairs = np.array(words, "<i8").view("<f4").reshape(3, 2)
    assert_from_each_third(pairs[:, 0])
    assert (np.diff(pairs) == 1).all() or pairs[2, 0] == 99.5


def test_numbers_in_another_code_are_told_as_such(launch):
    """Compressed, or as text: these may be anything."""
    program = """
import io, json, lzma, torch, zlib
file = io.BytesIO()
torch.save(torch.from_numpy(numbers), file)
objects = [
    zlib.compress(numbers.tobytes()),
    {"head": 5, "packed": zlib.compress(pickle.dumps(numbers), 9)},
    pickle.dumps(numbers, 2),
    json.dumps(numbers.tolist()),
    file.getvalue(),
    "stop",
]
for each in objects:
    comm.send(each, dest=peer) if rank == 0 else comm.recv(source=peer)
if rank == 0:
    comm.Send(lzma.compress(numbers.tobytes()), dest=peer)
    comm.Send(zlib.compress(numbers.tobytes()), dest=peer)
else:
    comm.Recv([taken, MPI.BYTE], source=peer), comm.Recv([taken, MPI.BYTE], source=peer)
"""
    calls = sampled(launch, program)
    assert [call.sampled_num_bytes for call in calls] == [-1, -1, -1, -1, -1, 0, -1, -1]


def test_a_sample_is_taken_as_the_send_begins(launch):
    """A buffer may be used again when its send is complete; few bytes are one sample."""
    program = """
if rank == 0:
    for length in 1, 3:
        request = comm.Isend(numbers[:length], dest=peer)
        request.Wait()
        numbers[:] = 7.25
    comm.Sendrecv(numbers[:2], dest=peer, recvbuf=taken, source=peer)
    comm.Sendrecv_replace(numbers[:1], dest=peer, source=peer)
    comm.Send(np.ones(1, "f4"), dest=peer)
    comm.Send(numbers, dest=MPI.PROC_NULL)
else:
    for _ in range(2):
        comm.Recv(taken, source=peer)
    comm.Sendrecv(numbers[:2], dest=peer, recvbuf=taken, source=peer)
    comm.Sendrecv_replace(numbers[:1], dest=peer, source=peer)
    comm.Recv(taken, source=peer)
"""
    one, three, pair, replaced, short, nowhere = sampled(launch, program)
    assert (one.sampled_num_bytes, numbers_of(one)) == (8, (0.5, 0.0, 0.0))
    assert (three.sampled_num_bytes, numbers_of(three)) == (24, (7.25, 7.25, 7.25))
    assert numbers_of(pair) == (7.25, 7.25, 7.25)
    assert numbers_of(replaced) == (7.25, 0.0, 0.0)
    assert (short.sampled_num_bytes, short.sample_first) == (4, np.float32(1).view("<i4"))
    assert nowhere.sampled_num_bytes == 0


def test_places_differ_from_call_to_call_and_from_run_to_run(launch):
    program = """
for _ in range(8):
    comm.Sendrecv(numbers, dest=peer, recvbuf=taken, source=peer)
"""
    runs = [[numbers_of(call) for call in sampled(launch, program)] for _ in range(2)]
    assert len({*runs[0]}) > 4 and len({*runs[0], *runs[1]}) > 8
    for numbers in (*runs[0], *runs[1]):
        assert_from_each_third(numbers)


def test_zeros_at_the_ends_are_left_out(launch):
    program = """
padded = np.concatenate([np.zeros(50), numbers, np.zeros(300)])
for each in padded, np.zeros(60), padded.astype("f4")[:-1]:
    comm.Sendrecv(each, dest=peer, recvbuf=taken, source=peer)
"""
    padded, zeros, floats = sampled(launch, program)
    assert padded.sampled_num_bytes == 800
    assert_from_each_third(numbers_of(padded))
    assert (zeros.sampled_num_bytes, numbers_of(zeros)) == (8, (0.0, 0.0, 0.0))
    assert floats.sampled_num_bytes in (404, 412)


@pytest.mark.parametrize(
    "call",
    [
        "comm.Allreduce(numbers, taken[:100])",
        "comm.Allreduce(MPI.IN_PLACE, numbers)",
        "comm.Iallreduce(numbers, taken[:100]).Wait()",
        "comm.Reduce(numbers, taken[:100] if rank == 1 else None, root=1)",
        "comm.Allgather(numbers, taken[:200])",
        "comm.Allgather(MPI.IN_PLACE, halves)",
        "comm.Allgatherv(MPI.IN_PLACE, [halves, (100, 100), (0, 100), MPI.DOUBLE])",
        "comm.Gatherv(numbers, taken[:200] if rank == 1 else None, root=1)",
        "comm.Alltoall(np.tile(numbers, 2), taken[:200])",
        "comm.Reduce_scatter_block(np.tile(numbers, 2), taken[:100])",
        "comm.Bcast(numbers if rank == 0 else taken[:100], root=0)",
        "started()",
    ],
)
def test_what_a_rank_gives_to_a_collective_is_sampled(call, launch):
    program = f"""
halves = np.zeros(200)
halves[100 * rank : 100 * rank + 100] = numbers
def started():
    given = np.zeros(100)
    request = comm.Allreduce_init(given, taken[:100])
    given[:] = numbers
    request.Start()
    request.Wait()
{call}
"""
    names = re.findall(r"comm\.(\w+)", call) or ["Start"]
    made = sampled(launch, program, *names)[-1]
    assert made.sampled_num_bytes == 800
    assert_from_each_third(numbers_of(made))


def test_what_a_collective_gives_between_groups_is_not(launch):
    program = """
own = comm.Split(rank)
between = own.Create_intercomm(0, comm, peer)
between.Allreduce(numbers, taken[:100])
comm.Bcast(taken[:10], root=1)
"""
    names = ("Allreduce", "Bcast")
    assert [call.sampled_num_bytes for call in sampled(launch, program, *names)] == [0, 0]

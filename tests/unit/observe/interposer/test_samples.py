"""What is sampled of the contents of messages."""

import struct

import numpy as np
import pytest

HEAD = """
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


def sampled(launch, program):
    """Return what each send of rank 0 was sampled as."""
    with launch(HEAD + program, 2) as run:
        trace, _ = run.finish()
        return [call for call in trace.calls if call.is_send]


@pytest.mark.parametrize(
    "send",
    [
        "comm.Isend(numbers, dest=peer)",
        "comm.Isend(numbers.tobytes(), dest=peer)",
        "comm.Issend([numbers, 1, MPI.DOUBLE.Create_contiguous(100).Commit()], dest=peer)",
        "comm.isend(numbers, dest=peer)",
        "comm.isend((3, numbers.tobytes()), dest=peer)",
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
    assert numbers_of(call) == (0.5, 50.5, 99.5)


def test_python_floats_in_a_pickle_are_sampled(launch):
    """The first and the last; whole numbers are not."""
    program = """
if rank == 0:
    comm.send(numbers.tolist(), dest=peer)
    comm.send([1, 2, 3], dest=peer)
else:
    comm.recv(source=peer), comm.recv(source=peer)
"""
    floats, others = sampled(launch, program)
    assert numbers_of(floats) == (0.5, 99.5, 99.5)
    assert others.sampled_num_bytes == 0


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

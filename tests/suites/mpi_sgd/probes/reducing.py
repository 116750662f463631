"""Calls of the student's all-reduce."""

import sys
import time

import numpy as np


def reduce_once(student, comm, *, file, function, send, fill, op):
    """Call the student's all-reduce once; recv starts as garbage."""
    all_reduce = student.function(file, function)
    recv = np.full_like(send, fill)
    with student.phase():
        all_reduce(send, recv, comm, _operations()[op])
    return {"recv": recv, "send": send}


def reduce_drawn(student, comm, *, file, function, send, fill, op, drawn):
    """Call the student's all-reduce once; what an op has in it besides its arguments is drawn."""
    all_reduce = student.function(file, function)
    recv = np.full_like(send, fill)
    operations = {
        "np.add": np.add,
        "lambda x, y: x + y + a * x * y": lambda x, y: x + y + drawn * x * y,
        "lambda x, y: x ^ y ^ a": lambda x, y: x ^ y ^ drawn,
    }
    with student.phase():
        all_reduce(send, recv, comm, operations[op])
    return {"recv": recv}


def reduce_watched(student, comm, *, file, function, send, fill, op):
    """Call the student's all-reduce once; also look for a result that is not in recv.

    `meant` is what the call returned, else what its name `recv` stands for in the end. It is empty
    if there is neither.
    """
    all_reduce = student.function(file, function)
    recv = np.full_like(send, fill)
    last = []

    def watch(frame, event, returned):
        if event == "return" and frame.f_code is all_reduce.__code__:
            names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
            last.extend([returned, *(frame.f_locals.get(name) for name in names[1:2])])

    watchable = hasattr(all_reduce, "__code__")
    with student.phase():
        sys.setprofile(watch if watchable else None)
        try:
            all_reduce(send, recv, comm, _operations()[op])
        finally:
            sys.setprofile(None)
    meant = [
        each
        for each in last
        if isinstance(each, np.ndarray) and each is not recv and each.dtype == recv.dtype
    ]
    meant = meant[0].reshape(-1) if meant else np.zeros(0, recv.dtype)
    return {"recv": recv, "send": send, "meant": meant}


def reduce_in_groups(student, comm, *, file, function, send, fill, op):
    """Call the student's all-reduce on a communicator of every second rank, in reverse order."""
    all_reduce = student.function(file, function)
    recv = np.full_like(send, fill)
    rank = comm.Get_rank()
    group = comm.Split(rank % 2, -rank)
    with student.phase():
        all_reduce(send, recv, group, _operations()[op])
    return {"recv": recv, "send": send}


def reduce_in_a_row(student, comm, *, file, function, sends, fill, op, late_calls, late_sends):
    """Call the student's all-reduce again and again on one communicator.

    A rank comes late to some calls, and one of its sends leaves late in some: MPI promises nothing
    about when a message leaves, and right code does not care.
    """
    all_reduce = student.function(file, function)
    late_comm = _late_communicator(comm)
    recvs = np.full_like(sends, fill)
    for call, (send, recv) in enumerate(zip(sends, recvs, strict=True)):
        late_comm.sends_until_late = int(late_sends[call])
        with student.phase():
            if late_calls[call]:
                with student.outside():
                    time.sleep(_LATE_S)
            all_reduce(send, recv, late_comm, _operations()[op])
    return {"recvs": recvs}


_LATE_S = 0.003


def _late_communicator(comm):
    """Return the communicator with one late send: the one after `sends_until_late` others."""
    from mpi4py import MPI

    class LateIntracomm(MPI.Intracomm):
        sends_until_late = -1

    def made_late(name):
        plain = getattr(MPI.Intracomm, name)

        def send(self, *arguments, **options):
            if self.sends_until_late == 0:
                time.sleep(_LATE_S)
            self.sends_until_late -= 1
            return plain(self, *arguments, **options)

        return send

    for name in ("Isend", "Issend", "Send", "Ssend", "Sendrecv", "isend", "send", "sendrecv"):
        setattr(LateIntracomm, name, made_late(name))
    return LateIntracomm(comm)


def reduce_long(student, comm, *, file, function, seed, length, op):
    """Call the student's all-reduce once on a long array: the judge takes the time."""
    all_reduce = student.function(file, function)
    send = long_array(seed, length)
    recv = np.full_like(send, -1)
    operation = _operations()[op]
    with student.phase():
        all_reduce(send, recv, comm, operation)
    return {"recv": recv}


def long_array(seed, length):
    """Return what one rank contributes: drawn here, because sending it would take too long.

    No two parts of it are alike, so no part of the work can stand for another. Every sum of these
    numbers is exact, and none of them is a whole number.
    """
    halves = np.random.default_rng(seed).integers(-(2**31), 2**31, length, dtype=np.int32)
    return (halves + 0.5) / 2**10


def _operations():
    """Return what a student may get as `op`; imports MPI only after the harness has started it."""
    from mpi4py import MPI

    return {
        "np.add": np.add,
        "lambda x, y: x + y": lambda x, y: x + y,
        "MPI.SUM": MPI.SUM,
        "np.maximum": np.maximum,
        "np.multiply": np.multiply,
        "np.bitwise_xor": np.bitwise_xor,
        "lambda x, y: x + y + x * y": lambda x, y: x + y + x * y,
    }

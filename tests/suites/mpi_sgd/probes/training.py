"""Training of the student's network on scripted batches."""

import time
from time import monotonic_ns

import numpy as np

from .networks import fit_network, scripted, trained


def fit(student, comm, **case):
    """Train the student's network on scripted batches from given start weights.

    Each rank pauses before it begins, and before its batches, for as long as the case says.
    """
    network, log = scripted(student.function(case["file"], case["class_name"]), case)
    pauses_s = iter(case.get("pauses_s", ()))
    log.before_forward = lambda num_batches_done: time.sleep(next(pauses_s, 0))
    time.sleep(next(pauses_s, 0))
    with student.phase():
        fit_network(network, case)
    return trained(network, log, case)


def fit_beside_a_slow_worker(
    student,
    comm,
    *,
    slow_rank,
    first_worker,
    held_batch,
    reached_batch,
    patience_s,
    pause_s,
    **case,
):
    """Hold one worker in a batch until the others have begun a certain one, or time is up.

    Which of the two happened is for the judge to see, by the messages and by when the worker was
    let go. It may pause before other batches, so that what comes late has come by then.
    """
    from mpi4py import MPI

    network, log = scripted(student.function(case["file"], case["class_name"]), case)
    private = comm.Dup()
    rank = comm.Get_rank()
    others = [worker for worker in range(first_worker, comm.Get_size()) if worker != slow_rank]
    word = np.zeros(1)
    said, released_ns = [], []

    def before_forward(num_batches_done):
        if rank == slow_rank and num_batches_done == held_batch:
            with student.outside():
                give_up_s = time.monotonic() + patience_s
                while not all(private.Iprobe(source=worker) for worker in others):
                    if time.monotonic() > give_up_s:
                        break
                    time.sleep(0.001)
                released_ns.append(monotonic_ns())
        elif rank == slow_rank:
            time.sleep(pause_s)
        elif rank in others and num_batches_done == reached_batch:
            with student.outside():
                said.append(private.Isend(word, dest=slow_rank))

    log.before_forward = before_forward
    with student.phase():
        fit_network(network, case)
    if rank in others and not said:
        said.append(private.Isend(word, dest=slow_rank))
    if rank == slow_rank:
        for worker in others:
            private.Recv(word, source=worker)
    MPI.Request.Waitall(said)
    private.Free()
    return {**trained(network, log, case), "released_ns": np.array(released_ns, dtype=np.int64)}

"""Training of the student's network on scripted batches."""

import time
from time import monotonic_ns

import numpy as np

from grader.rank.toolbox import Pauses

from .networks import fit_network, scripted, trained


def fit(student, comm, **case):
    """Train the student's network on scripted batches from given start weights.

    Each rank pauses before it begins, and before its batches, for as long as the case says; in its
    first batches so often that it shows whether ranks compute at the same time.
    """
    network, log = scripted(student.function(case["file"], case["class_name"]), case)
    pauses_s = iter(case.get("pauses_s", ()))
    pauses = Pauses(case["num_pauses"])

    def before_forward(num_batches_done):
        time.sleep(next(pauses_s, 0))
        pauses.pause()

    log.before_forward = before_forward
    time.sleep(next(pauses_s, 0))
    with student.phase():
        fit_network(network, case)
    return {**trained(network, log, case), "paused_ns": pauses.spans_ns()}


def fit_beside_a_slow_worker(
    student,
    comm,
    *,
    is_slow,
    first_worker,
    held_batch,
    reached_batch,
    patience_s,
    pause_s,
    **case,
):
    """Hold one worker in a batch until the others have begun a certain one, or time is up.

    Which of the two happened is for the judge to see, by the messages and by when the worker was
    let go. It may pause before other batches, so that what comes late has come by then. Only this
    worker is told that it is slow: a master that knew could serve it last. So workers tell all.
    """
    from mpi4py import MPI

    network, log = scripted(student.function(case["file"], case["class_name"]), case)
    private = comm.Dup()
    rank = comm.Get_rank()
    workers = range(first_worker, comm.Get_size())
    others = [worker for worker in workers if worker != rank] if rank in workers else []
    word = np.zeros(1)
    said, released_ns = [], []

    def tell_others():
        said.extend(private.Isend(word, dest=worker) for worker in others)

    def before_forward(num_batches_done):
        if is_slow and num_batches_done == held_batch:
            with student.outside():
                give_up_s = time.monotonic() + patience_s
                while not all(private.Iprobe(source=worker) for worker in others):
                    if time.monotonic() > give_up_s:
                        break
                    time.sleep(0.001)
                released_ns.append(monotonic_ns())
        elif is_slow:
            time.sleep(pause_s)
        elif num_batches_done == reached_batch:
            with student.outside():
                tell_others()

    log.before_forward = before_forward
    with student.phase():
        fit_network(network, case)
    if not said:
        tell_others()
    for worker in others:
        private.Recv(np.empty(1), source=worker)
    MPI.Request.Waitall(said)
    private.Free()
    return {**trained(network, log, case), "released_ns": np.array(released_ns, dtype=np.int64)}

"""Training of the student's network on scripted batches."""

import time
from time import monotonic_ns

import numpy as np

from grader.rank.toolbox import Pauses

from .networks import fit_network, scripted, trained


def fit(student, comm, **case):
    """Train the student's network on scripted batches from given start weights.

    Each rank pauses before it begins, and before its batches, for as long as the case says. In its
    first batches it pauses twice, before forward_prop and before a later product of matrices: this
    shows whether ranks compute at the same time.
    """
    network, log = scripted(student.function(case["file"], case["class_name"]), case)
    pauses_s = iter(case.get("pauses_s", ()))
    forward, later = (Pauses(case["num_pauses"]) for _ in range(2))
    paused_later = set()

    def reached(num_batches_done, num_products):
        if num_products == 0:
            time.sleep(next(pauses_s, 0))
            forward.pause()
        elif num_products >= case["paused_product"] and num_batches_done not in paused_later:
            paused_later.add(num_batches_done)
            later.pause()

    log.reached = reached
    time.sleep(next(pauses_s, 0))
    with student.phase():
        fit_network(network, case)
    spans_ns = {"paused_ns": forward.spans_ns(), "paused_later_ns": later.spans_ns()}
    return {**trained(network, log, case), **spans_ns}


def fit_beside_a_slow_worker(
    student,
    comm,
    *,
    is_slow,
    first_worker,
    held_batch,
    held_product,
    reached_batch,
    patience_s,
    pause_s,
    **case,
):
    """Hold one worker in a batch until the others have begun a certain one, or time is up.

    It is held before a product of matrices, of the forward or the backward pass.

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

    def reached(num_batches_done, num_products):
        is_there = num_batches_done == held_batch and num_products >= held_product
        if is_slow and is_there and not released_ns:
            with student.outside():
                give_up_s = time.monotonic() + patience_s
                while not all(private.Iprobe(source=worker) for worker in others):
                    if time.monotonic() > give_up_s:
                        break
                    time.sleep(0.001)
                released_ns.append(monotonic_ns())
        elif num_products > 0:
            return
        elif is_slow and num_batches_done != held_batch:
            time.sleep(pause_s)
        elif num_batches_done == reached_batch:
            with student.outside():
                tell_others()

    log.reached = reached
    with student.phase():
        fit_network(network, case)
    if not said:
        tell_others()
    for worker in others:
        private.Recv(np.empty(1), source=worker)
    MPI.Request.Waitall(said)
    private.Free()
    return {**trained(network, log, case), "released_ns": np.array(released_ns, dtype=np.int64)}

"""Rank-side calls of the student's functions for mpi_sgd; knows no right answer."""

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


def reduce_watched(student, comm, *, file, function, send, fill, op):
    """Call the student's all-reduce once; beside recv, look for a result that is not written there.

    `meant` is what the call returned, else what its `recv` has become a name for; without either it
    is empty.
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
    """Call the student's all-reduce on a communicator of half of the ranks, the last one first."""
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
    """Return the communicator with sends of which one, `sends_until_late` before it, waits."""
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


def mpi_reduces_long(student, comm, *, seed, length):
    """Do the work of reduce_long with MPI's own all-reduce: the yardstick."""
    send = long_array(seed, length)
    comm.Allreduce(send, np.full_like(send, -1))
    return {}


def long_array(seed, length):
    """Return what one rank contributes: drawn here, for to be sent it would take too long.

    No two parts of it are alike, so that no part of the work can stand for another. Of such numbers
    every sum is exact, and none is a whole one.
    """
    halves = np.random.default_rng(seed).integers(-(2**31), 2**31, length, dtype=np.int32)
    return (halves + 0.5) / 2**10


def fit(student, comm, **case):
    """Train the student's network on scripted batches from given start weights."""
    network, log = _student_network(student, case)
    with student.phase():
        _fit(network, case)
    return _trained(network, log, case)


def serial_fit(student, comm, **case):
    """Train the support file's own serial network on the same batches: the yardstick.

    The ranks meet as often as they do to sum array by array. That takes next to no time, but where
    other programs have the cores: then it takes as long here as it does for the student.
    """
    serial = student.function("network.py", "NeuralNetwork")
    network, log = _scripted(serial, case)
    num_arrays = 2 * len(case["sizes"])
    log.before_forward = lambda num_batches_done: [comm.Barrier() for _ in range(num_arrays)]
    _fit(network, case)
    return _trained(network, log, case)


def fit_beside_a_slow_worker(student, comm, *, slow_rank, first_worker, patience_s, **case):
    """Hold one worker in its first batch until another has gone through three, or time is up.

    Which of the two happened is the result; how long it took is not.
    """
    from mpi4py import MPI

    network, log = _student_network(student, case)
    private = comm.Dup()
    rank = comm.Get_rank()
    others = [worker for worker in range(first_worker, comm.Get_size()) if worker != slow_rank]
    word = np.zeros(1)
    said = []

    def before_forward(num_batches_done):
        if rank == slow_rank and num_batches_done == 0:
            with student.outside():
                give_up_s = time.monotonic() + patience_s
                while not (heard := private.Iprobe(source=MPI.ANY_SOURCE)):
                    if time.monotonic() > give_up_s:
                        break
                    time.sleep(0.001)
                log.others_went_on = heard
        elif rank in others and num_batches_done == 3:
            with student.outside():
                said.append(private.Isend(word, dest=slow_rank))

    log.before_forward = before_forward
    with student.phase():
        _fit(network, case)
    if rank in others and not said:
        said.append(private.Isend(word, dest=slow_rank))
    if rank == slow_rank:
        for worker in others:
            private.Recv(word, source=worker)
    MPI.Request.Waitall(said)
    private.Free()
    return {
        **_trained(network, log, case),
        "others_went_on": np.array([log.others_went_on], dtype=np.int64),
    }


def _operations():
    """Return what a student may get as `op`; MPI is only touched where the harness has begun it."""
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


class _Log:
    """What the network of this rank was trained on."""

    def __init__(self, data):
        self.row_of = {row.tobytes(): number for number, row in enumerate(data)}
        self.batches = []
        self.seen = []
        self.pending = None
        self.before_forward = lambda num_batches_done: None
        self.others_went_on = False


def _student_network(student, case):
    return _scripted(student.function(case["file"], case["class_name"]), case)


def _scripted(base, case):
    """Return a network of class `base` that trains on the case's batches, and what it logs.

    A batch counts as trained on when back_prop follows its forward_prop: validation does not.
    """
    script, record_weights = case["script"], case["record_weights"]
    log = _Log(case["data"])

    class Scripted(base):
        epochs_begun = 0

        def create_batches(self, data, labels, batch_size):
            epoch = script[self.epochs_begun % len(script)]
            self.epochs_begun += 1
            rows = [epoch[i % len(epoch)][:batch_size] for i in range(self.number_of_batches)]
            return [(data[batch], labels[batch]) for batch in rows]

        def forward_prop(self, x):
            x = np.asarray(x)
            if x.ndim == 2 and x.shape[1] == case["data"].shape[1]:
                rows = [log.row_of.get(row.tobytes(), -1) for row in x]
                if any(row >= 0 for row in rows):
                    _assert_mpi_is_up()
                    log.before_forward(len(log.batches))
                seen = _packed(self) if record_weights else np.zeros(0)
                log.pending = (rows, seen)
            return super().forward_prop(x)

        def back_prop(self, y):
            if log.pending is not None:
                rows, seen = log.pending
                log.batches.append(rows)
                log.seen.append(seen)
                log.pending = None
            return super().back_prop(y)

    network = Scripted(
        sizes=list(case["sizes"]),
        learning_rate=case["learning_rate"],
        mini_batch_size=case["mini_batch_size"],
        number_of_batches=case["number_of_batches"],
        epochs=case["epochs"],
        **case["options"],
    )
    _set_parameters(network, case["sizes"], case["start"])
    return network, log


def _assert_mpi_is_up():
    """Raise RuntimeError in a fit that goes on training after MPI.Finalize, as MPI itself would."""
    from mpi4py import MPI

    if MPI.Is_finalized():
        raise RuntimeError(
            "fit goes on training after MPI.Finalize(), which has to come once, after all epochs: "
            "put it behind the loop"
        )


def _fit(network, case):
    """Train the network; a TypeError for want of an array says which list holds none, and why."""
    try:
        network.fit((case["data"], case["labels"]), (case["unseen"], case["unseen_labels"]))
    except TypeError as error:
        if "NoneType" in str(error):
            error.args = (f"{error}{_why_none(error.__traceback__)}",)
        raise


def _why_none(trace):
    """Return why a local list of a function on the way holds None; empty if that is not known."""
    while trace is not None:
        frame = trace.tb_frame
        for name, value in frame.f_locals.items():
            if isinstance(value, list) and any(item is None for item in value):
                told = f"; {name} holds None"
                if "ringallreduce" in frame.f_globals:
                    told += ": ringallreduce returns None, its result is in recv"
                return told
        trace = trace.tb_next
    return ""


def _set_parameters(network, sizes, packed):
    """Give the network the weights and biases in `packed`; leave its dummies at index 0 alone."""
    rest = packed.copy()
    for layer in range(1, len(sizes)):
        mine, rest = np.split(rest, [sizes[layer - 1] * sizes[layer]])
        network.weights[layer] = mine.reshape(sizes[layer - 1], sizes[layer]).copy()
    for layer in range(1, len(sizes)):
        mine, rest = np.split(rest, [sizes[layer]])
        network.biases[layer] = mine.copy()


def _packed(network):
    """Return all weights, then all biases, as one vector (index 0, the dummy, left out)."""
    arrays = [*network.weights[1:], *network.biases[1:]]
    return np.concatenate([np.asarray(array, dtype=np.float64).ravel() for array in arrays])


def _trained(network, log, case):
    trained = {
        f"{kind}[{layer}]": array
        for kind in ("weights", "biases")
        for layer, array in enumerate(getattr(network, kind))
        if layer > 0
    }
    num_parameters = len(case["start"]) if case["record_weights"] else 0
    return {
        **trained,
        "rows": np.array([row for batch in log.batches for row in batch], dtype=np.int64),
        "rows_per_batch": np.array([len(batch) for batch in log.batches], dtype=np.int64),
        "seen": np.array(log.seen, dtype=np.float64).reshape(len(log.batches), num_parameters),
    }

"""Calls of the student's formulas, and the communication that they describe."""

import numpy as np

from grader.rank.toolbox import error_text


def closed_forms(student, comm, *, file, names, arguments):
    """Call each of the student's functions on each of its tuples of arguments.

    A function that raises is reported in its own `problem`; the others are called all the same.
    """
    module = student.module(file)
    results, raised = {}, []
    for name in names:
        try:
            with student.phase():
                function = student.function(file, name)
                values = [float(function(*each)) for each in arguments[name]]
            problem = ""
        except Exception as error:
            raised.append(error)
            values, problem = [np.nan] * len(arguments[name]), error_text(error, most_chars=400)
        results[name] = np.array(values)
        results[f"{name} problem"] = problem
    if len(raised) == len(names):
        raise raised[0]
    counts_server = bool(getattr(module, "N_COUNTS_THE_SERVER", True))
    return {**results, "counts_server": np.array([counts_server], dtype=np.int64)}


def measure(student, comm, *, file, function, way, num_parameters, num_times):
    """Communicate as a formula describes, and call the student's formula.

    num_times arrays of num_parameters numbers are really sent: the judge counts them.
    """
    formula = student.function(file, function)
    module = student.module(file)
    counts_server = bool(getattr(module, "N_COUNTS_THE_SERVER", True))
    array = np.ones(num_parameters)
    with student.phase():
        for _ in range(num_times):
            _WAYS[way](comm, array)
    num_processes = comm.Get_size()
    if way == "star" and not counts_server:
        num_processes -= 1
    value = float(formula(num_parameters, num_processes, num_times))
    return {"formula": np.array([value])}


def _naive(comm, array):
    """Every rank sends every other rank the whole array."""
    others = [rank for rank in range(comm.Get_size()) if rank != comm.Get_rank()]
    sent = [comm.Isend(array, dest=other) for other in others]
    for other in others:
        comm.Recv(np.empty_like(array), source=other)
    for request in sent:
        request.Wait()


def _ring(comm, array):
    """Every rank passes a chunk of the array to the right, 2 (n - 1) times."""
    rank, size = comm.Get_rank(), comm.Get_size()
    chunks = np.array_split(array, size)
    for step in range(2 * (size - 1)):
        # Reduce-scatter begins with a rank's own chunk, all-gather with the one it has finished.
        sent = chunks[(rank - step + (step >= size - 1)) % size]
        got = chunks[(rank - 1 - step + (step >= size - 1)) % size]
        request = comm.Isend(sent, dest=(rank + 1) % size)
        comm.Recv(np.empty_like(got), source=(rank - 1) % size)
        request.Wait()


def _tree(comm, array):
    """Pairs of ranks, at distance 1, 2, 4, ..., pass the array to the lower; then back again."""
    rank, size = comm.Get_rank(), comm.Get_size()
    distances = [1 << level for level in range((size - 1).bit_length())]
    for up, levels in ((True, distances), (False, distances[::-1])):
        for distance in levels:
            if rank % (2 * distance) == distance:
                _pass(comm, array, rank - distance, sends=up)
            elif rank % (2 * distance) == 0 and rank + distance < size:
                _pass(comm, array, rank + distance, sends=not up)


def _star(comm, array):
    """Every other rank sends rank 0 the array, and gets one back."""
    for sends in (True, False):
        if comm.Get_rank() > 0:
            _pass(comm, array, 0, sends=sends)
        else:
            for other in range(1, comm.Get_size()):
                _pass(comm, array, other, sends=not sends)


def _pass(comm, array, peer, *, sends):
    if sends:
        comm.Send(array, dest=peer)
    else:
        comm.Recv(np.empty_like(array), source=peer)


_WAYS = {"naive": _naive, "ring": _ring, "tree": _tree, "star": _star}

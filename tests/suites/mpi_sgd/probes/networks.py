"""A network that is given its batches, and logs what it is trained on."""

import contextlib
from itertools import pairwise

import numpy as np

from grader.rank.toolbox import ExampleRows, flattened, packed, stacked, unpacked

ALL_PRODUCTS = 1 << 30
"""More than there are in any batch."""


class Log:
    """What the network of this rank was trained on."""

    def __init__(self, data):
        self.rows = ExampleRows(data)
        self.passed = []
        self.batches = []
        self.seen = []
        self.pending = None
        self.has_back_prop = False
        self.num_products = 0
        self.reached = lambda num_batches_done, num_products: None

    def count_product(self):
        """Note a product of matrices in a batch whose back_prop has not ended."""
        if self.pending is not None:
            self.num_products += 1
            self.reached(len(self.batches), self.num_products)

    def end_batch(self):
        """Note the pending batch as trained on."""
        rows, seen, _ = self.pending
        self.batches.append(rows)
        self.seen.append(seen)
        self.pending = None

    def end_batch_without_back_prop(self, network):
        """Note it where parameters changed: fit may compute gradients by itself."""
        if self.pending is None or self.has_back_prop or max(self.pending[0], default=-1) < 0:
            return
        with contextlib.suppress(TypeError, ValueError):  # no arrays: fit fails by itself
            if not np.array_equal(self.pending[2], _parameters(network)):
                self.end_batch()


def scripted(base, case):
    """Return a network of class `base` that trains on the case's batches, and what it logs.

    The log's `reached` is called before a batch's forward_prop with 0, before each product of its
    matrices with the product's number, and after its back_prop with ALL_PRODUCTS.

    Of what create_batches is passed, be it a slice, a batch takes the rows that come first in the
    order of the script. It counts as trained on when back_prop follows its forward_prop, or, if fit
    never calls back_prop, when the parameters change after it: validation does not.
    """
    script, record_weights = case["script"], case["record_weights"]
    log = Log(case["data"])

    class Scripted(base):
        def create_batches(self, data, labels, batch_size):
            epoch = script[len(log.passed) % len(script)]
            rows = log.rows.of(data)
            if min(rows, default=-1) < 0:  # changed examples are told by their places
                rows = range(len(data))
            places = {row: place for place, row in enumerate(rows)}
            log.passed.append([] if len(places) == len(case["data"]) else list(rows))
            chosen = [[places[row] for row in order if row in places] for order in epoch]
            batches = [chosen[i % len(epoch)][:batch_size] for i in range(self.number_of_batches)]
            return [(data[batch], labels[batch]) for batch in batches]

        def forward_prop(self, x):
            x = np.asarray(x)
            log.end_batch_without_back_prop(self)
            if x.ndim == 2 and x.shape[1] == case["data"].shape[1]:
                rows = log.rows.of(x)
                if any(row >= 0 for row in rows):
                    _assert_mpi_is_up()
                    log.reached(len(log.batches), 0)
                before = np.zeros(0) if log.has_back_prop else _parameters(self)
                seen = _parameters(self) if record_weights else np.zeros(0)
                log.pending, log.num_products = (rows, seen, before), 0
            return super().forward_prop(x)

        def back_prop(self, y):
            gradients = super().back_prop(y)
            if log.pending is not None:
                log.reached(len(log.batches), ALL_PRODUCTS)
                log.end_batch()
            log.has_back_prop = True
            return gradients

        @property
        def matmul(self):
            return self._counted_matmul

        @matmul.setter
        def matmul(self, function):
            def counted(*factors, **options):
                log.count_product()
                return function(*factors, **options)

            self._counted_matmul = counted

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
    """Raise RuntimeError if fit continues training after MPI.Finalize, as MPI itself would."""
    from mpi4py import MPI

    if MPI.Is_finalized():
        raise RuntimeError(
            "fit continued training after MPI.Finalize(), which must come once, after the last "
            "epoch"
        )


def fit_network(network, case):
    """Train the network; add to a TypeError about None which list contains it, and why."""
    try:
        network.fit((case["data"], case["labels"]), (case["unseen"], case["unseen_labels"]))
    except TypeError as error:
        if "NoneType" in str(error):
            error.args = (f"{error}{_why_none(error.__traceback__)}",)
        raise


def _why_none(trace):
    """Return which local list on the way to an error contains None, and why; empty for none."""
    while trace is not None:
        frame = trace.tb_frame
        for name, value in frame.f_locals.items():
            if isinstance(value, list) and any(item is None for item in value):
                told = f"; {name} contains None"
                if "ringallreduce" in frame.f_globals:
                    told += ", because ringallreduce returns None and writes its result to recv"
                return told
        trace = trace.tb_next
    return ""


def _set_parameters(network, sizes, parameters):
    """Give the network these weights and biases; leave its dummies at index 0 alone."""
    shapes = [*pairwise(sizes), *((size,) for size in sizes[1:])]
    arrays = unpacked(parameters, shapes)
    layers = range(1, len(sizes))
    for layer, weights, biases in zip(layers, arrays, arrays[len(layers) :], strict=False):
        network.weights[layer], network.biases[layer] = weights, biases


def _parameters(network):
    """Return all weights, then all biases, as one vector (index 0, the dummy, left out)."""
    return packed([*network.weights[1:], *network.biases[1:]], np.float64)


def trained(network, log, case):
    """Return what a network has become, and what it was trained on, as the case announces it."""
    parameters = {
        f"{kind}[{layer}]": array
        for kind in ("weights", "biases")
        for layer, array in enumerate(getattr(network, kind))
        if layer > 0
    }
    log.end_batch_without_back_prop(network)
    rows, rows_per_batch = flattened(log.batches)
    passed, rows_per_call = flattened(log.passed)
    num_parameters = len(case["start"]) if case["record_weights"] else 0
    return {
        **parameters,
        "rows": rows,
        "rows_per_batch": rows_per_batch,
        "passed": passed,
        "rows_per_call": rows_per_call,
        "seen": stacked(log.seen, num_parameters, np.float64),
    }

"""Rank-side calls of the student's scripts for federated; knows no right answer."""

import builtins
import contextlib
import functools
import inspect
import os
import random
import shutil
from pathlib import Path

import numpy as np

PICTURES_BEGIN = {
    ".png": b"\x89PNG\r\n\x1a\n",
    ".jpg": b"\xff\xd8\xff",
    ".jpeg": b"\xff\xd8\xff",
    ".pdf": b"%PDF",
    ".svg": b"<",
}


def train(
    student, comm, *, file, images, labels, num_training, client_of, seed, most_gradients=None
):
    """Run the student's script on given examples; return what it trained on, and its model.

    client_of: the client of each training example, or nothing where there are no clients.
    most_gradients: end the script after so many, or by what it raises: what it did until then
    comes back all the same. For scripts that have not come to their end before.
    """
    rank = _rank(comm)
    given = _Given(images, labels, num_training, client_of)
    _begin_anew(comm, rank, seed)
    log = _Log(given.train, most_gradients)
    names = {}
    with log.watching(), _watched_aggregation(log), given.in_place(), student.phase():
        try:
            names = student.script(file)
        except _Enough:
            names = {"model": log.network}
        except NotImplementedError:
            raise
        except Exception:
            if most_gradients is None:
                raise
    model, gradient, problem = _model_of(names)
    return {
        "model": model,
        "gradient": gradient,
        "aggregate": log.aggregate,
        "problem": problem,
        "rows": np.array([row for batch in log.batches for row in batch], dtype=np.int64),
        "rows_per_batch": np.array([len(batch) for batch in log.batches], dtype=np.int64),
        "seen": np.array(log.seen, dtype=np.float32) if log.seen else np.zeros((0, 0), np.float32),
        "figures": _figures(),
    }


def serial_training(student, comm, *, images, labels, num_training, plan, seed):
    """Train the network on the same number of batches in one process: the yardstick."""
    import torch

    utils = student.module("utils.py")
    given = _Given(images, labels, num_training, [])
    _begin_anew(comm, _rank(comm), seed)
    model = utils.Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    criterion = torch.nn.CrossEntropyLoss()
    for _ in range(plan["epochs"]):
        for x, y in utils.create_dataloader(given.train, given.test, plan["batch_size"])[0]:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
    return {}


def aggregate(student, comm, *, file, keys, num_samples, counts=None, **entries):
    """Have the student's Aggregator average state dicts, take the mean in, and give it out."""
    import torch

    aggregator_class = student.function(file, "Aggregator")
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), _normalisation(4, counts is not None))
    arrays = [entries.get(f"entry {i}", counts) for i in range(len(keys))]
    state_dicts = [
        {key: torch.from_numpy(np.array(array[k])) for key, array in zip(keys, arrays, strict=True)}
        for k in range(len(num_samples))
    ]
    with student.phase():
        aggregator = aggregator_class(model)
        aggregated = aggregator.aggregate(state_dicts, list(num_samples))
    found = _entries(aggregated, "aggregated")
    with student.phase():
        aggregator.set_model_params(aggregated)
        given_out = aggregator.get_model_params()
    return {**found, **_entries(given_out, "given out"), **_entries(model.state_dict(), "held")}


def _normalisation(num_features, counts_batches):
    """Return a module with the parameters and buffers of batch norm, with its counter or without.

    A BatchNorm1d refuses a plain state dict that has no counter.
    """
    import torch

    if counts_batches:
        return torch.nn.BatchNorm1d(num_features)
    module = torch.nn.Module()
    module.weight = torch.nn.Parameter(torch.ones(num_features))
    module.bias = torch.nn.Parameter(torch.zeros(num_features))
    module.register_buffer("running_mean", torch.zeros(num_features))
    module.register_buffer("running_var", torch.ones(num_features))
    return module


def closed_forms(student, comm, *, file, names, arguments):
    """Call each of the student's functions on each of its tuples of arguments.

    One that raises is told by its own `problem`, so that it does not cost the others.
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
            values, problem = [np.nan] * len(arguments[name]), f"{type(error).__name__}: {error}"
        results[name] = np.array(values)
        results[f"{name} problem"] = problem[:400]
    if len(raised) == len(names):
        raise raised[0]
    counts_server = bool(getattr(module, "N_COUNTS_THE_SERVER", True))
    return {**results, "counts_server": np.array([counts_server], dtype=np.int64)}


def measure(student, comm, *, file, function, way, num_parameters, num_times):
    """Do the communication that a formula is about, and call the student's formula.

    Here, num_times arrays of num_parameters numbers really travel: the judge counts them.
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
    """Everybody sends everybody the whole array."""
    others = [rank for rank in range(comm.Get_size()) if rank != comm.Get_rank()]
    sent = [comm.Isend(array, dest=other) for other in others]
    for other in others:
        comm.Recv(np.empty_like(array), source=other)
    for request in sent:
        request.Wait()


def _ring(comm, array):
    """2 (n - 1) times, everybody passes a chunk of the array to the right."""
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
    """Everybody sends rank 0 the array, and gets one back."""
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


def _rank(comm):
    """Return the rank; in a genuine run MPI is the script's to ask."""
    return comm.Get_rank() if comm is not None else int(os.environ["OMPI_COMM_WORLD_RANK"])


def _begin_anew(comm, rank, seed):
    """Let every rank draw other numbers, until the script seeds; make an empty figures/."""
    import torch

    own_seed = seed % (1 << 30) + 1000 * rank
    torch.set_num_threads(1)
    torch.set_grad_enabled(True)
    torch.manual_seed(own_seed)
    np.random.seed(own_seed)
    random.seed(own_seed)
    # A genuine run is the only one in its folder, and its ranks do not wait for each other here.
    if rank == 0 and comm is not None:
        shutil.rmtree("figures", ignore_errors=True)
    if rank == 0 or comm is None:
        Path("figures").mkdir(exist_ok=True)
    if comm is not None:
        comm.Barrier()


class _Given:
    """The examples of a case, where the support files look for them."""

    def __init__(self, images, labels, num_training, client_of):
        import utils

        scaled = (images.astype(np.float32) / 255 - 0.5) / 0.5
        self.train = utils.Examples(scaled[:num_training], labels[:num_training])
        self.test = utils.Examples(scaled[num_training:], labels[num_training:])
        clients = np.asarray(client_of, dtype=np.int64)
        self.split = [np.flatnonzero(clients == k) for k in range(clients.max(initial=-1) + 1)]

    @contextlib.contextmanager
    def in_place(self):
        """Let load_data and data_split return these examples."""
        import utils

        utils._given = (self.train, self.test, self.split or None)
        try:
            yield
        finally:
            utils._given = None


class _Enough(BaseException):
    """Ends a script that has computed as many gradients as it was to."""


class _Log:
    """The training examples and the weights of every gradient that was computed in this rank."""

    def __init__(self, examples, most_gradients=None):
        self.row_of = {image.numpy().tobytes(): row for row, image in enumerate(examples.data)}
        self.batches = []
        self.seen = []
        self.network = None
        self.aggregate = np.zeros(0, dtype=np.float32)
        self.most_gradients = most_gradients

    @contextlib.contextmanager
    def watching(self):
        """Look at what goes through networks; a batch counts when gradients come back from it."""
        import utils
        from torch.nn import Module
        from torch.nn.modules.module import register_module_forward_hook

        # The hook sees every network, but not the calls of forward() itself.
        handle = register_module_forward_hook(self._after_forward)
        forward, load_state_dict = utils.Net.forward, Module.load_state_dict

        def watched(module, x):
            output = forward(module, x)
            self._after_forward(module, (x,), output)
            return output

        def loaded(module, *args, **kwargs):
            result = load_state_dict(module, *args, **kwargs)
            self._end_when_done()
            return result

        utils.Net.forward = watched
        if self.most_gradients is not None:
            Module.load_state_dict = loaded
        try:
            yield
        finally:
            handle.remove()
            utils.Net.forward, Module.load_state_dict = forward, load_state_dict

    def _end_when_done(self):
        if self.most_gradients is not None and len(self.batches) >= self.most_gradients:
            raise _Enough

    def _after_forward(self, module, inputs, output):
        # Layers see batches, too; only the whole network has layers.
        if not output.requires_grad or next(module.children(), None) is None or not inputs:
            return
        if getattr(output, "_is_watched", False):
            return
        output._is_watched = True
        self.network = module
        self._end_when_done()
        images = inputs[0].detach()
        rows = [self.row_of.get(image.contiguous().numpy().tobytes(), -1) for image in images]

        def on_backward(_):
            self.batches.append(rows)
            self.seen.append(_packed(module.state_dict()))

        output.register_hook(on_backward)


@contextlib.contextmanager
def _watched_aggregation(log):
    """Keep what a class Aggregator, defined meanwhile, returns from its last aggregate()."""
    build_class = builtins.__build_class__

    def build_and_watch(body, name, *bases, **options):
        made = build_class(body, name, *bases, **options)
        aggregate = vars(made).get("aggregate")
        if name == "Aggregator" and inspect.isfunction(aggregate):

            @functools.wraps(aggregate)
            def watched(*args, **kwargs):
                result = aggregate(*args, **kwargs)
                with contextlib.suppress(Exception):  # of a form that another test asks about
                    log.aggregate = _packed(result)
                return result

            made.aggregate = watched
        return made

    builtins.__build_class__ = build_and_watch
    try:
        yield
    finally:
        builtins.__build_class__ = build_class


def _packed(state_dict):
    """Return all entries as one float32 vector, in the order of the state dict."""
    arrays = [np.asarray(entry, dtype=np.float32).ravel() for entry in state_dict.values()]
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.float32)


def _model_of(names):
    """Return the parameters of the script's `model` and their gradients, packed, and a problem.

    An Aggregator may hold the model when the script has none of that name.
    """
    import torch

    nothing = np.zeros(0, dtype=np.float32)
    model = names.get("model")
    if model is None:
        aggregators = [each for each in names.values() if type(each).__name__ == "Aggregator"]
        model = getattr(aggregators[0], "model", None) if aggregators else None
    if isinstance(model, dict):
        return _packed(model), nothing, ""
    if not isinstance(model, torch.nn.Module):
        found = "nothing of that name" if model is None else f"a {type(model).__name__}"
        return nothing, nothing, found
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    is_there = all(torch.is_tensor(gradient) for gradient in gradients.values())
    return _packed(model.state_dict()), _packed(gradients) if is_there else nothing, ""


def _figures():
    """Return the names of the pictures below figures/, one a line; `!` marks what is none."""
    files = sorted(path for path in Path("figures").rglob("*") if path.is_file())
    return "\n".join(("" if _is_picture(path) else "!") + path.as_posix() for path in files[:20])


def _is_picture(path):
    """Return whether a file begins as its name says."""
    begins = PICTURES_BEGIN.get(path.suffix.lower())
    return begins is not None and path.read_bytes().startswith(begins)


def _entries(state_dict, word):
    """Return the keys and dtypes of a state dict, a line each, and all its numbers in a row."""
    if not hasattr(state_dict, "items"):
        return {
            f"{word} keys": f"!{type(state_dict).__name__}",
            f"{word} numbers": np.zeros(0),
            f"{word} lengths": np.zeros(0, dtype=np.int64),
        }
    arrays = {key: np.asarray(value).ravel() for key, value in state_dict.items()}
    return {
        f"{word} keys": "\n".join(f"{key} {array.dtype}" for key, array in arrays.items()),
        f"{word} numbers": np.concatenate([np.zeros(0), *arrays.values()]),
        f"{word} lengths": np.array([len(array) for array in arrays.values()], dtype=np.int64),
    }

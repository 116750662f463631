"""Tests of psgd_hogwild's reference and of what it gives its students, without any grading."""

import fcntl
import os
import signal
import struct
import threading
import time
from pathlib import Path
from types import ModuleType

import mpi4py
import numpy as np
import pytest

from .imports import imported

ROOT = Path(__file__).parents[3]
REFERENCE = ROOT / "reference" / "psgd_hogwild"
OPEN_FILE_LOCK = 37
"""F_OFD_SETLK of Linux, which Python has no name for."""
MODULES = (
    *("images", "training", "observed", "record", "waiting"),
    *("network", "psgd", "hogwild"),
)


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """Import the modules anew, and let go of their common names afterwards."""
    # psgd.py imports MPI; the process that pytest runs in is not to start it.
    monkeypatch.setattr(mpi4py.rc, "initialize", False)
    monkeypatch.setattr(mpi4py.rc, "finalize", False)
    support = ROOT / "grader" / "course" / "support"
    modules = imported(monkeypatch, MODULES, support, REFERENCE)
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    return modules


@pytest.fixture
def problem(given, tmp_path):
    """Return a small dataset, and a function that makes the same observed model every time."""
    import torch
    from torch.utils.data import TensorDataset

    inputs, labels = torch.randn(25, 4), torch.randint(3, (25,))
    weight, bias = torch.randn(3, 4), torch.randn(3)

    def make(folder=tmp_path, meeting_of=0, meeting_steps=(1, 3), failing_batch=0):
        record = given["record"].Record(
            folder, meeting_of, meeting_steps if meeting_of else (), failing_batch
        )
        return given["observed"].ObservedModel(weight, bias, inputs, record)

    return TensorDataset(inputs, labels), make


class Ranks:
    """Communicators whose ranks are threads: enough of MPI for the reference."""

    def __init__(self, size):
        self.size = size
        self.barrier = threading.Barrier(size, timeout=30)
        self.arrays = [None] * size

    def run(self, function):
        """Call function(communicator) in a thread for each rank; return what they return."""
        results = [None] * self.size

        def be(rank):
            results[rank] = function(Rank(self, rank))

        threads = [threading.Thread(target=be, args=(rank,)) for rank in range(self.size)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results


class Rank:
    def __init__(self, ranks, rank):
        self.ranks, self.rank = ranks, rank

    def Get_rank(self):  # noqa: N802 - MPI's name
        return self.rank

    def Get_size(self):  # noqa: N802 - MPI's name
        return self.ranks.size

    def _exchange(self, array):
        self.ranks.arrays[self.rank] = array.copy()
        self.ranks.barrier.wait()
        arrays = list(self.ranks.arrays)
        self.ranks.barrier.wait()
        return arrays

    def Bcast(self, array, root):  # noqa: N802 - MPI's name
        array[...] = self._exchange(array)[root]

    def Allreduce(self, own, total, op):  # noqa: N802 - MPI's name
        total[...] = sum(self._exchange(own))


def values(model):
    """Return all parameters of a model as one array."""
    return np.concatenate([p.detach().numpy().ravel() for p in model.parameters()])


def plain_sgd(given, model, dataset, batches, lr):
    """Train model on batches of rows with steps written out."""
    import torch

    for rows in batches:
        inputs, labels = dataset[rows]
        probabilities = model(inputs)
        chosen = probabilities[torch.arange(len(rows)), labels]
        gradients = torch.autograd.grad(-chosen.log().mean(), list(model.parameters()))
        with torch.no_grad():
            for parameter, gradient in zip(model.parameters(), gradients, strict=True):
                parameter.sub_(gradient * lr)
    return model


def test_the_network_gives_probabilities_of_ten_classes(given):
    """And after eval() the same ones each time."""
    import torch

    network, images = given["network"].Net(), torch.rand(5, 1, 28, 28)
    assert network(images).shape == (5, 10)
    np.testing.assert_allclose(network(images).sum(dim=1).detach(), np.ones(5), rtol=1e-5)
    network.eval()
    assert torch.equal(network(images), network(images))


def test_every_parameter_of_the_network_learns(given):
    """No layer is left out of the forward pass."""
    import torch

    network = given["network"].Net()
    given["training"].loss(network(torch.rand(8, 1, 28, 28)), torch.arange(8)).backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in network.parameters())


def test_the_loss_is_the_mean_of_the_negative_logarithm(given):
    """Of the probability of the right class; a probability of zero stays finite."""
    import torch

    probabilities = torch.tensor([[0.5, 0.5], [0.25, 0.75]])
    found = given["training"].loss(probabilities, torch.tensor([0, 1]))
    assert found.item() == pytest.approx(-(np.log(0.5) + np.log(0.75)) / 2)
    assert torch.isfinite(given["training"].loss(torch.tensor([[0.0, 1.0]]), torch.tensor([0])))


def test_digits_are_pairs_of_images_and_classes(given):
    """Images of one channel with values in 0..1; training and test set have no image in common."""
    training, test = given["training"].digits()
    image, label = training[0]
    assert image.shape == (1, 28, 28)
    assert 0 <= image.min() < image.max() <= 1
    assert 0 <= int(label) < 10
    assert (len(training), len(test)) == (1297, 500)


def test_accuracy_counts_the_most_probable_class(given):
    """The model is back in training mode afterwards."""
    import torch
    from torch.utils.data import TensorDataset

    class Known(torch.nn.Module):
        def forward(self, x):
            return x

    model = Known()
    dataset = TensorDataset(torch.eye(4), torch.tensor([0, 1, 0, 3]))
    assert given["training"].accuracy(model, dataset) == 0.75
    assert model.training


@pytest.mark.parametrize("size", [1, 2, 3])
def test_psgd_is_the_mean_of_serial_trainings(given, problem, tmp_path, size):
    """Each rank's own batches, in its order, from the weights of rank 0; 25 examples on 3 ranks."""
    dataset, make = problem
    models = []
    for rank in range(size):
        folder = tmp_path / str(rank)
        folder.mkdir()
        models.append(make(folder))
    for model in models[1:]:
        model.weight.data.mul_(2)
    settings = {"epochs": 2, "lr": 0.25, "batch_size": 4, "seed": 5}
    trained = Ranks(size).run(
        lambda comm: given["psgd"].psgd(comm, models[comm.rank], dataset, **settings)
    )
    seen = [[event["rows"] for event in model.record.events("batch")] for model in models]
    learned = [values(plain_sgd(given, make(), dataset, rows, 0.25)) for rows in seen]
    for model in trained:
        np.testing.assert_allclose(values(model), np.mean(learned, axis=0), rtol=1e-5, atol=1e-6)
    parts = [sorted({row for batch in rows for row in batch}) for rows in seen]
    assert sorted(row for part in parts for row in part) == list(range(25))


def test_one_process_of_hogwild_is_plain_sgd(given, problem):
    """Bit for bit, on the batches that it took."""
    dataset, make = problem
    settings = {"epochs": 2, "lr": 0.25, "batch_size": 4, "seed": 5}
    trained = given["hogwild"].hogwild(make(), dataset, num_processes=1, **settings)
    events = trained.record.events("batch")
    assert {event["process"] for event in events}.isdisjoint({os.getpid()})
    expected = plain_sgd(given, make(), dataset, [event["rows"] for event in events], 0.25)
    np.testing.assert_array_equal(values(trained), values(expected))


def test_processes_of_hogwild_step_shared_weights_on_parts_of_their_own(given, problem):
    """Three processes, 25 examples, every one once an epoch."""
    dataset, make = problem
    settings = {"epochs": 2, "lr": 2.0**-6, "batch_size": 4, "seed": 5}
    for _ in range(3):  # on a very busy machine processes may not meet in time
        trained = given["hogwild"].hogwild(make(meeting_of=3), dataset, num_processes=3, **settings)
        if not trained.record.events("gave up"):
            break
    events = trained.record.events("batch")
    rows = {}
    for event in events:
        rows.setdefault(event["process"], []).extend(event["rows"])
    assert len(rows) == 3
    assert sorted(row for part in rows.values() for row in part) == sorted([*range(25)] * 2)
    assert not trained.record.events("gave up")
    assert {event["memory"] for event in trained.record.events("wrote")} == {
        given["observed"].memory_of(parameter) for parameter in trained.parameters()
    }


def test_hogwild_tells_when_a_process_fails(given, problem):
    """An exit code that is not zero becomes an exception."""
    _, make = problem
    with pytest.raises(RuntimeError, match="process 0 ended with exit code 1"):
        given["hogwild"].hogwild(
            make(), None, num_processes=1, epochs=1, lr=0.1, batch_size=1, seed=0
        )


def test_a_record_is_read_while_another_process_writes_to_it(given, tmp_path):
    """A line that crosses a page of memory can be seen in two pieces: the first is no event yet."""
    record = given["record"].Record(tmp_path)
    record.add("arrived")
    with record.file.open("a") as file:
        file.write('{"kind": "arr')
    (event,) = record.events("arrived")
    assert event["process"] == os.getpid()


def test_a_meeting_ends_when_the_others_do_not_come(given, problem, monkeypatch):
    """The one that waits in its step goes on, and says so."""
    dataset, make = problem
    monkeypatch.setattr(given["record"], "_PATIENCE_S", 0.05)
    model = make(meeting_of=2)
    try:
        plain_sgd(given, model, dataset, [[0, 1], [2, 3]], 0.1)
    finally:
        given["observed"].stop_watching()
    assert len(model.record.events("gave up")) == 1


def test_who_has_ended_is_not_waited_for_at_a_later_meeting(given, tmp_path, monkeypatch):
    """It had fewer steps; but whoever was never at the first meeting excuses nobody."""
    monkeypatch.setattr(given["record"], "_PATIENCE_S", 0.05)
    record = given["record"].Record(tmp_path, 2, (1, 3))
    child = os.fork()
    if child == 0:
        os._exit(0)
    record.add("started", child=child)
    record.meet(1)
    assert len(record.events("gave up")) == 1
    record.file.unlink()
    record.add("started", child=child)
    record.add("arrived", meeting=0, process=child)
    record.meet(1)
    os.waitpid(child, 0)
    assert not record.events("gave up")


@pytest.mark.parametrize(("comes", "gives_up"), [(True, False), (False, True)])
def test_who_is_being_started_is_waited_for(given, tmp_path, monkeypatch, comes, gives_up):
    """In start(), a process waits until the spawned one has imported torch."""
    monkeypatch.setattr(given["record"], "_PATIENCE_S", 0.05)
    monkeypatch.setattr(given["record"], "_START_LIMIT_S", 30 if comes else 0.2)
    record = given["record"].Record(tmp_path, 2, (1,))
    record.add("starting")

    def come():
        record.add("began", process=1)
        record.add("arrived", process=1, thread=1, meeting=0)

    timer = threading.Timer(0.5 if comes else 5, come)
    timer.start()
    record.meet(0)
    timer.cancel()
    assert bool(record.events("gave up")) == gives_up


@pytest.mark.parametrize("last", ["started", "not started"])
def test_a_start_ends_when_it_returns_or_fails(given, tmp_path, last):
    """Also where the process that is started starts another one, or never says it has begun."""
    record, is_in_start = given["record"].Record(tmp_path), given["record"].is_in_start
    for kind in ("starting", "started", "starting"):
        assert not is_in_start(record.events(*given["record"].STARTS)) or kind == "started"
        record.add(kind, child=os.getpid())
    assert is_in_start(record.events(*given["record"].STARTS))
    record.add(last, child=os.getpid())
    assert not is_in_start(record.events(*given["record"].STARTS))


def test_a_step_has_written_all_weights_when_its_process_meets_others(given, problem, monkeypatch):
    """What it read before its first write is old by the time that the meeting ends."""
    import torch

    dataset, make = problem
    model = make(meeting_of=2)
    model.share_memory()
    parameters = [model.weight, model.bias]
    seen = []
    monkeypatch.setattr(
        model.record, "meet", lambda number: seen.append([each.tolist() for each in parameters])
    )
    try:
        given["training"].loss(model(dataset.tensors[0]), dataset.tensors[1]).backward()
        with torch.no_grad():
            stepped = [each - 0.1 * each.grad for each in parameters]
            for each, new in zip(parameters, stepped, strict=True):
                each.copy_(new)
    finally:
        given["observed"].stop_watching()
    assert seen == [[new.tolist() for new in stepped]]


@pytest.fixture
def other():
    """Return what starts a process, which does `act(own id)` and sleeps until the test ends."""
    children = []

    def start(act=lambda child: None):
        child = os.fork()
        if child == 0:
            try:
                act(os.getpid())
                time.sleep(1000)
            finally:
                os._exit(0)
        children.append(child)
        return child

    yield start
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@pytest.fixture
def record(given, tmp_path):
    """A record of two processes, of which neither has taken a step; that of pytest is the first."""
    return given["record"].Record(tmp_path, 2, (1, 30))


def held_up(record):
    """Hold this process up; return the processes that had stopped by then."""
    record.hold_up()
    return record.events("stayed")[-1]["stopped"]


def has_met(record, process):
    """Note that a process was at the first meeting, which is over."""
    record.add("arrived", meeting=0, process=process)
    record.add("stayed", process=process)


def test_who_sleeps_while_another_is_held_up_has_stopped(record, other):
    sleeping = other()
    has_met(record, sleeping)
    record.add("batch", process=sleeping)
    assert held_up(record) == [sleeping]


def test_who_asks_without_a_pause_while_another_is_held_up_has_stopped(record, other):
    """Its time on a core is its own; what others have of the cores does not count."""

    def ask(process):
        while True:
            pass

    asking = other(ask)
    has_met(record, asking)
    assert held_up(record) == [asking]


def test_who_takes_its_batches_while_another_is_held_up_has_not_stopped(record, other):
    def take_batches(process):
        while True:
            record.add("batch")
            time.sleep(0.01)

    has_met(record, other(take_batches))
    assert held_up(record) == []
    assert len(record.events("batch")) >= 3


def test_who_has_ended_while_another_is_held_up_has_not_stopped(record):
    child = os.fork()
    if child == 0:
        os._exit(0)
    has_met(record, child)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert held_up(record) == []
    os.waitpid(child, 0)


def test_who_is_at_a_meeting_while_another_is_held_up_has_not_stopped(record, other):
    record.add("arrived", meeting=0, process=other())
    assert held_up(record) == []


def test_work_of_processes_that_train_is_not_of_who_started_them(given, other):
    """As where the process that starts the others trains as well."""

    def start_what_works(process):
        child = os.fork()
        if child == 0:
            while os.getppid() == process:
                pass
            os._exit(0)

    waiting = given["waiting"]
    parent = other(start_what_works)
    give_up_s = time.monotonic() + 30
    while not (children := Path(f"/proc/{parent}/task/{parent}/children").read_text().split()):
        assert time.monotonic() < give_up_s
    while waiting.activity(parent)[0] != "S":
        assert time.monotonic() < give_up_s
    assert not waiting._doings([str(parent)], set())[0]
    assert waiting._doings([str(parent)], set(children))[0]


def test_who_waits_for_what_it_has_started_is_not_at_rest(given, other):
    """As for the workers of a DataLoader."""

    def start_what_works(process):
        if os.fork() == 0:
            while os.getppid() == process:
                pass
            os._exit(0)

    waiting_module, sleeping, waiting = given["waiting"], other(), other(start_what_works)
    give_up_s = time.monotonic() + 30
    while waiting_module.activity(waiting)[0] != "S" or waiting_module._doings([waiting], set())[0]:
        assert time.monotonic() < give_up_s
    while not waiting_module._doings([sleeping], set())[0]:
        assert time.monotonic() < give_up_s


@pytest.mark.parametrize("kind", ["flock", "lockf", "open file"])
def test_a_lock_of_a_file_is_seen(given, tmp_path, kind):
    """Whoever takes it, by what name; not one that another process holds."""
    path = tmp_path / "lock"
    with path.open("w") as file:
        locks = given["waiting"].Locks()
        assert not locks.is_one_held()
        taking = {
            "flock": lambda: fcntl.flock(file, fcntl.LOCK_EX),
            "lockf": lambda: fcntl.lockf(file, fcntl.LOCK_EX),
            "open file": lambda: fcntl.fcntl(
                file, OPEN_FILE_LOCK, struct.pack("hhlli", 1, 0, 0, 0, 0)
            ),
        }
        taking[kind]()
        assert locks.is_one_held()
        child = os.fork()
        if child == 0:
            os._exit(int(given["waiting"].Locks().is_one_held()))
        _, status = os.waitpid(child, 0)
        assert (os.waitstatus_to_exitcode(status) == 1) == (kind == "open file")
    assert not locks.is_one_held()


def test_locks_are_seen_where_they_are_held_in_training(given, problem):
    """Not one that is held in between, nor a semaphore that was taken before the first batch."""
    import torch.multiprocessing as mp

    dataset, make = problem
    model, lock, gate = make(), mp.Lock(), mp.Semaphore(2)
    gate.acquire()
    try:
        plain_sgd(given, model, dataset, [[0, 1]], 0.1)
        with lock:
            pass
        plain_sgd(given, model, dataset, [[2, 3]], 0.1)
        assert not model.record.events("held", "waited")
        gate.acquire()
        plain_sgd(given, model, dataset, [[4, 5]], 0.1)
        with_turn = model.record.events("waited")
        with lock:
            plain_sgd(given, model, dataset, [[6, 7]], 0.1)
        with_lock = model.record.events("held")
    finally:
        given["observed"].stop_watching()
    assert [event["place"].split(":")[0] for event in with_turn + with_lock] == [
        Path(__file__).name
    ] * 2


def test_who_sleeps_is_told_from_who_works(given):
    """By the state that Linux gives a process, and by the time that it has used."""
    activity, is_running = given["waiting"].activity, given["waiting"].is_running
    state, used = activity(os.getpid())
    assert is_running(state) and used > 0
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(write)
        os.read(read, 1)
        os._exit(0)
    deadline_s = time.monotonic() + 5
    while is_running(activity(child)[0]) and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert not is_running(activity(child)[0])
    os.close(write)
    os.close(read)
    os.waitpid(child, 0)
    assert activity(child) is None


def test_memory_has_one_name_in_all_processes(given):
    """Private memory has none."""
    import torch

    name_of = given["observed"].memory_of
    shared = torch.zeros(4).share_memory_()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, name_of(shared).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 1000).decode() == name_of(shared) != ""
    assert name_of(shared[1:]) != name_of(shared)
    assert name_of(torch.zeros(4)) == ""
    os.close(read)
    os.close(write)


def test_only_batches_whose_gradient_is_computed_are_noted(given, problem):
    """Evaluations leave no trace; inputs of somebody else's are marked."""
    import torch

    dataset, make = problem
    model = make()
    inputs, labels = dataset[[3, 1]]
    model(inputs)
    with torch.no_grad():
        model(inputs)
    given["training"].loss(model(inputs), labels).backward()
    given["training"].loss(model(inputs + 1), labels).backward()
    given["observed"].stop_watching()
    first, second = model.record.events("batch")
    assert first["rows"] == [3, 1]
    assert second["rows"] == [-1, -1]
    assert len(first["gradients"]["weight"]) == 12

"""What the study of mpi_sgd measures."""

from grader.study import Extent, Point

RANKS = (1, 2, 4, 8, 16)
MASTERS = (2, 4)
WORKERS = (1, 2, 4, 6, 12)
REDUCING_RANKS = (2, 4, 8)
BATCH_SIZE = 16
BATCHES = 632
LEARNING_RATE = 0.1
WAYS = {"collective": "MPI collective", "ring": "own ring"}
FILES = {
    "serial": (),
    "collective": ("sync_network_collective.py",),
    "ring": ("sync_network.py", "my_ring_allreduce.py"),
    "async": ("async_network.py",),
}
REDUCTIONS = {"naive": "naive", "ring": "ring", "library": "MPI_Allreduce"}
REDUCTION_FILES = {"naive": ("my_naive_allreduce.py",), "ring": ("my_ring_allreduce.py",)}


def epochs_of(extent):
    return {Extent.QUICK: 1, Extent.DEFAULT: 3, Extent.FULL: 5}[extent]


def lengths_of(extent):
    """Return the lengths of arrays that are reduced, in numbers of 8 bytes."""
    powers = (0, 4, 8, 11, 14, 16, 18) if extent is Extent.QUICK else range(0, 22, 2)
    return [2**power for power in powers]


def serial(batch_size=BATCH_SIZE):
    return "serial" if batch_size == BATCH_SIZE else f"serial, batches of {batch_size}"


def sync(way, ranks):
    return f"sync with {WAYS[way]}, {counted(ranks, 'rank')}"


def counted(number, word):
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def scaled(ranks):
    return f"sync with own ring, {ranks} ranks, {BATCH_SIZE} examples on each"


def asynchronous(masters, workers):
    return f"async with {masters} masters, {counted(workers, 'worker')}"


def gentle(masters, workers):
    return f"async with {masters} masters, {workers} workers, rate / workers"


def reducing(way, ranks):
    return f"{REDUCTIONS[way]} all-reduce, {ranks} ranks"


def points(extent):
    """Return what is measured, the most important first."""
    epochs = epochs_of(extent)
    is_quick = extent is Extent.QUICK
    found = [_training(serial(), "serial", 1, epochs, extent)]
    # Of one rank with a part of the batch: the computing that modelled time is made of.
    for ranks in RANKS[1:]:
        batch_size = BATCH_SIZE // ranks
        found.append(
            _training(serial(batch_size), "serial", 1, epochs, extent, batch_size=batch_size)
        )
    for ranks in RANKS:
        for way in WAYS:
            # Many ranks on few cores take long: what they show are modelled time and accuracy.
            found.append(_training(sync(way, ranks), way, ranks, epochs, extent))
    for masters in MASTERS:
        for workers in WORKERS:
            found.append(
                _training(
                    asynchronous(masters, workers), "async", masters + workers, epochs, extent,
                    masters=masters,
                )
            )  # fmt: skip
    settings = {"lengths": lengths_of(extent), "num_calls": 15, "time_s": 0.3 if is_quick else 1.5}
    for ranks in REDUCING_RANKS:
        for way in REDUCTIONS:
            found.append(
                Point(
                    name=reducing(way, ranks),
                    series=f"{REDUCTIONS[way]} all-reduce",
                    program="reducing.py",
                    settings={"way": way, **settings},
                    needs=REDUCTION_FILES.get(way, ()),
                    ranks=ranks,
                    limit_s=20 if is_quick else 90,
                    expected_s=1 + ranks * (0.3 if is_quick else 1.2),
                    num_repeats=1,
                )
            )
    for workers in WORKERS[2:]:
        found.append(
            _training(
                gentle(2, workers), "async", 2 + workers, epochs, extent,
                masters=2, learning_rate=LEARNING_RATE / workers,
            )
        )  # fmt: skip
    for ranks in RANKS[1:-1]:
        batch_size = BATCH_SIZE * ranks
        found.append(
            _training(
                scaled(ranks), "ring", ranks, 1, extent,
                batch_size=batch_size, batches=BATCHES // 4,
            )
        )  # fmt: skip
    return found


def _training(name, way, ranks, epochs, extent, **others):
    settings = {
        "way": way,
        "epochs": epochs,
        "batches": BATCHES,
        "batch_size": BATCH_SIZE,
        "learning_rate": LEARNING_RATE,
        **others,
    }
    work = epochs * settings["batches"] / BATCHES
    return Point(
        name=name,
        series=_series(name),
        program="training.py",
        settings=settings,
        needs=FILES[way],
        ranks=ranks,
        limit_s=12 + (2.5 if way == "ring" else 1.5) * ranks * max(work, 0.5),
        expected_s=0.8 + 0.15 * ranks + work * (0.5 + 0.04 * ranks * ranks * (way != "async")),
        num_repeats=3 if ranks <= 8 else 2,
    )


def _series(name):
    return name.partition(",")[0]

"""What the study of mpi_sgd measures."""

from grader.study import Extent, Point, counted

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
IN_STEP_S = {"collective": 0.45, "ring": 0.75}
"""What another rank adds to an epoch, with two cores for all."""
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


def scaled(ranks):
    return f"sync with own ring, {ranks} ranks, {BATCH_SIZE} examples on each"


def asynchronous(masters, workers):
    return f"async with {masters} masters, {counted(workers, 'worker')}"


def gentle(masters, workers):
    return f"async with {masters} masters, {workers} workers, rate / workers"


def gentle_serial(workers):
    return f"serial, rate / {workers}"


def reducing(way, ranks):
    return f"{REDUCTIONS[way]} all-reduce, {ranks} ranks"


def points(extent):
    """Return what is measured: what takes longest last, many ranks in step on few cores."""
    epochs = epochs_of(extent)
    few, many = RANKS[:3], RANKS[3:]
    return [
        _training(serial(), "serial", 1, epochs, extent),
        # One rank with a part of the batch: the computing that modelled time is made of.
        *(
            _training(serial(size), "serial", 1, epochs, extent, batch_size=size)
            for size in (BATCH_SIZE // ranks for ranks in RANKS[1:])
        ),
        *(_training(sync(way, n), way, n, epochs, extent) for n in few for way in WAYS),
        *(_reducing(way, ranks, extent) for ranks in REDUCING_RANKS for way in REDUCTIONS),
        *(
            _training(asynchronous(m, w), "async", m + w, epochs, extent, masters=m)
            for m in MASTERS
            for w in WORKERS
        ),
        *(
            _training(
                gentle(2, w), "async", 2 + w, epochs, extent,
                masters=2, learning_rate=LEARNING_RATE / w,
            )
            for w in WORKERS[2:]
        ),
        *(
            _training(
                gentle_serial(w), "serial", 1, epochs, extent, learning_rate=LEARNING_RATE / w
            )
            for w in WORKERS[2:]
        ),
        *(
            _training(
                scaled(n), "ring", n, 1, extent, batch_size=BATCH_SIZE * n, batches=BATCHES // 8
            )
            for n in RANKS[1:-1]
        ),
        *(_training(sync(way, n), way, n, epochs, extent) for n in many for way in WAYS),
    ]  # fmt: skip


def _reducing(way, ranks, extent):
    is_quick = extent is Extent.QUICK
    return Point(
        name=reducing(way, ranks),
        series=f"{REDUCTIONS[way]} all-reduce",
        program="reducing.py",
        settings={
            "way": way,
            "lengths": lengths_of(extent),
            "num_calls": 15,
            "time_s": 0.2 if is_quick else 1.5,
        },
        needs=REDUCTION_FILES.get(way, ()),
        ranks=ranks,
        limit_s=25 if is_quick else 90,
        expected_s=0.6 + ranks * (0.15 if is_quick else 1.2),
        num_repeats=1,
    )


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
        # Ranks that wait take turns on the cores: half a second each for an epoch in step.
        limit_s=20 + 5 * ranks * work,
        expected_s=0.8 + 0.1 * ranks + work * (0.4 + IN_STEP_S.get(way, 0) * (ranks - 1)),
        num_repeats=3 if ranks < RANKS[3] or way == "async" else 1 if ranks == RANKS[4] else 2,
    )


def _series(name):
    return name.partition(",")[0]

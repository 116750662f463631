"""What the study of psgd_hogwild measures."""

from grader.study import Extent, Launcher, Point, counted

PROCESSES = (1, 2, 3, 4, 5)
WAYS = {"psgd": "Parallel SGD", "hogwild": "Hogwild"}
UNITS = {"psgd": ("rank", "ranks"), "hogwild": ("process", "processes")}
LEARNING_RATE = 0.05
BATCH_SIZE = 8
SERIAL = "Plain SGD"


def epochs_of(extent):
    return {Extent.QUICK: 4, Extent.DEFAULT: 10, Extent.FULL: 10}[extent]


def named(way, processes):
    return f"{WAYS[way]}, {counted(processes, *UNITS[way])}"


ALL = (SERIAL, *(named(way, n) for n in PROCESSES for way in WAYS))


def points(extent):
    """Return what is measured, the most important first."""
    found = [_point(SERIAL, "serial", 1, extent)]
    found += [_point(named(way, n), way, n, extent) for n in PROCESSES for way in WAYS]
    return found


def _point(name, way, processes, extent):
    is_psgd = way == "psgd"
    epochs = epochs_of(extent)
    return Point(
        name=name,
        series=WAYS.get(way, SERIAL),
        program="psgd_training.py" if is_psgd else "hogwild_training.py",
        settings={
            "way": way,
            "processes": processes,
            "epochs": epochs,
            "lr": LEARNING_RATE,
            "batch_size": BATCH_SIZE,
        },
        needs=() if way == "serial" else (f"{way}.py",),
        ranks=processes if is_psgd else 1,
        launcher=Launcher.MPIRUN if is_psgd else Launcher.PROCESSES,
        limit_s=40 if extent is Extent.QUICK else 120,
        expected_s=(2.5 + 0.3 * epochs) if way == "serial" else 2.5 + processes + 0.3 * epochs,
        num_repeats=2 if extent is Extent.QUICK else 4,
    )

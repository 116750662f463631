"""What the study of lenet_eyeriss measures."""

from grader.study import Extent, Launcher, Point, counted

PROCESSES = (1, 2, 4, 8)
SHOWN = 4
"""Processes whose curves are shown, as the sheet has them."""
METHODS = {"allreduce": "all-reduce", "ring_allreduce": "ring"}
LEARNING_RATE = 0.002
FAST_RATE = 0.5
EVERY = 5
"""Epochs between two looks at the model."""


def named(method, processes, rate=LEARNING_RATE):
    name = f"{METHODS[method]}, {counted(processes, 'process', 'processes')}"
    return name if rate == LEARNING_RATE else f"{name}, learning rate {rate:g}"


def points(extent):
    """Return what is measured, the most important first."""
    epochs = 100
    order = [(processes, LEARNING_RATE) for processes in PROCESSES]
    order.insert(3, (SHOWN, FAST_RATE))
    return [
        Point(
            name=named(method, processes, rate),
            series=METHODS[method],
            program="training.py",
            settings={"module": method, "epochs": epochs, "learning_rate": rate, "every": EVERY},
            needs=(f"{method}.py",),
            ranks=processes,
            launcher=Launcher.PROCESSES,
            limit_s=40 if extent is Extent.QUICK else 120,
            expected_s=2 + 2 * processes,
            num_repeats=2 if extent is Extent.QUICK else 3,
        )
        for processes, rate in order
        for method in METHODS
    ]

"""What the study of vgg_ddp measures."""

from grader.study import Extent, Launcher, Point, counted

NODES = (1, 2, 4)
WAYS = {
    "single": "part1/main.py",
    "gather_scatter": "part2a/main.py",
    "isend_irecv": "part2a/main_isend.py",
    "allreduce": "part2b/main.py",
    "ddp": "part3/main.py",
}
LABELS = {
    "single": "one node",
    "gather_scatter": "gather and scatter",
    "isend_irecv": "isend and irecv",
    "allreduce": "all-reduce",
    "ddp": "DistributedDataParallel",
}
WINDOWS = ((1, 9), (1, 39))
"""Iterations whose time is averaged, first and last; the first of all also pays for connecting."""
BATCH_SIZE = 256
"""Of all nodes together."""
BATCH_SIZE_EACH = 64
"""Of each node, where every node has as many however many there are."""
DISTRIBUTED = tuple(way for way in WAYS if way != "single")


def named(way, nodes, batch_size=BATCH_SIZE):
    share = "" if batch_size == BATCH_SIZE else f", {batch_size} examples in all"
    count = "" if way == "single" else f", {counted(nodes, 'node')}"
    return f"{LABELS[way]}{count}{share}"


def points(extent):
    """Return what is measured, the most important first."""
    found = [_point("single", 1, BATCH_SIZE, extent)]
    found += [_point(way, 4, BATCH_SIZE, extent) for way in DISTRIBUTED]
    # One node on its share of the batch: the computing that modelled time is made of.
    found += [_point("single", 1, BATCH_SIZE // nodes, extent) for nodes in NODES[1:]]
    found += [_point(way, n, BATCH_SIZE, extent) for n in (2, 1) for way in DISTRIBUTED]
    found += [_point(way, n, BATCH_SIZE_EACH * n, extent) for n in (2, 1) for way in DISTRIBUTED]
    return found


def _point(way, nodes, batch_size, extent):
    is_quick = extent is Extent.QUICK
    iterations = 12 if is_quick else 40
    return Point(
        name=named(way, nodes, batch_size),
        series=LABELS[way],
        program="node.py",
        settings={
            "file": WAYS[way],
            "takes_flags": way != "single",
            "iterations": iterations,
            "batch_size": batch_size,
            "first_channels": 4,
            "num_tests": 500,
        },
        needs=(WAYS[way],),
        ranks=nodes,
        launcher=Launcher.PROCESSES,
        limit_s=40 if is_quick else 120,
        # Starting one takes two seconds of a core; two start at once.
        expected_s=1 + 1.2 * nodes + iterations * batch_size / BATCH_SIZE * 0.12,
        num_repeats=1 if is_quick else 3,
    )

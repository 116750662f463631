"""How long a class of 300 takes on 1 to 64 nodes, simulated from measured times of gradings.

    python benchmarks/class_scaling.py GRADINGS [--slots N]

GRADINGS: the folder `gradings` that `grade class` has left, such as that of whole_class.py --keep.
Assumed: each grading takes the time of one that was measured, drawn with a fixed seed; every node
has N slots (default 2), all as fast as the machine that was measured; a slot takes the next hand-in
of the list; all nodes' jobs start at once, JOB_START_S after they were asked for; nothing is lost.
"""

import argparse
import heapq
import json
import random
from collections.abc import Sequence
from pathlib import Path

NUM_HAND_INS = 300
NODES = (1, 2, 4, 8, 16, 32, 64)
NUM_DRAWS = 200
DISPATCH_S = 0.001
"""What Parsl takes to hand out a task: its own `parsl-perf` did 1,570 a second on two cores."""
JOB_START_S = 10.0
"""Until the batch system has started a node's job and its workers have answered."""


def main() -> None:
    """Print the time and what bounds it for each number of nodes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gradings", type=Path)
    parser.add_argument("--slots", type=int, default=2, help="gradings at once on a node")
    options = parser.parse_args()
    files = sorted(options.gradings.glob("[!.]*/outcome.json"))
    outcomes = [json.loads(file.read_text()) for file in files]
    measured_s = [each["wall_time_s"] for each in outcomes if not each["error"]]
    if not measured_s:
        parser.error(f"{options.gradings} holds no gradings; name the folder that a class left")
    print(
        f"{len(measured_s)} measured, mean {sum(measured_s) / len(measured_s):.1f} s, longest "
        f"{max(measured_s):.1f} s; {NUM_HAND_INS} hand-ins, {options.slots} slots a node"
    )
    print(f"{'nodes':>5} {'time':>9} {'speed-up':>9} {'occupied':>9}  bounded by")
    draws = [
        random.Random(seed).choices(measured_s, k=NUM_HAND_INS)  # noqa: S311 - no secret
        for seed in range(NUM_DRAWS)
    ]
    alone_s = _mean([makespan_s(each, options.slots) for each in draws])
    for nodes in NODES:
        slots = nodes * options.slots
        took_s = _mean([makespan_s(each, slots) for each in draws])
        occupied = _mean([sum(each) for each in draws]) / (slots * took_s)
        bound = max(
            (_mean([sum(each) for each in draws]) / slots, "work"),
            (_mean([max(each) for each in draws]) + JOB_START_S, "the longest grading, job start"),
            (NUM_HAND_INS * DISPATCH_S, "handing out"),
        )[1]
        print(f"{nodes:5} {took_s:7.0f} s {alone_s / took_s:9.1f} {occupied:9.0%}  {bound}")


def makespan_s(times_s: Sequence[float], slots: int) -> float:
    """Return when the last of these gradings ends, taken in their order by slots that are free."""
    free_at = [JOB_START_S] * slots
    heapq.heapify(free_at)
    last_s = 0.0
    for number, time_s in enumerate(times_s):
        begun_s = max(heapq.heappop(free_at), (number + 1) * DISPATCH_S)
        heapq.heappush(free_at, begun_s + time_s)
        last_s = max(last_s, begun_s + time_s)
    return last_s


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


if __name__ == "__main__":
    main()

"""What the figures of federated show, in sentences with numbers."""

from grader.study import FEWEST_RUNS, counted

from .figures import shares_and_weights
from .plan import ALL, FEDERATED, LONG, LONG_TIMES, WAYS

_ROUNDING = 1e-3
"""Of a weight."""


def findings(results):
    """Return sentences; where something was not measured, none about it."""
    return [*_weights(results), *_drop(results.with_common_runs(ALL)), *_same(results)]


def _weights(results):
    """Say by how much a client's model counts otherwise than by its examples, where it does."""
    pairs = [
        (abs(weight - share), i + 1, share, weight)
        for run, *_ in results.reports(FEDERATED["non-iid"])
        for i, (share, weight) in enumerate(shares_and_weights(run))
    ]
    off, client, share, weight = max(pairs, default=(0.0, 0, 0.0, 0.0))
    if off > _ROUNDING:
        yield (
            "Wrong: FedAvg must weight a client's model by its share of the examples. Client "
            f"{client} has {share:.1%} of them, but its model has a weight of {weight:.1%}."
        )


def _drop(results):
    for ways, local in ((FEDERATED, "1 local epoch"), (LONG, f"{LONG_TIMES} local epochs")):
        iid, other = (results.spread(way, "accuracy") for way in ways.values())
        if iid is None or other is None:
            continue
        figures = f"non-iid {other.text('{:.1%}')}, iid {iid.text('{:.1%}')}"
        if min(iid.num_runs, other.num_runs) < FEWEST_RUNS:
            yield (
                f"Accuracy of FedAvg, {local}: {figures}. A claim needs {FEWEST_RUNS} runs of each."
            )
        elif other.high < iid.low:
            yield f"FedAvg with {local} is less accurate on non-iid data: {figures}."
        else:
            yield f"Accuracy of FedAvg, {local}: {figures}. This difference is within the spread."


def _same(results):
    """Compare runs with the same seed: a run that failed has none beside it."""
    found = [
        {i: run["accuracy"] for i, (run, *_) in results.by_repeat(way).items()}
        for way in list(WAYS)[:3]
    ]
    runs = set.intersection(*map(set, found))
    if runs:
        most = max(max(each[i] for each in found) - min(each[i] for each in found) for i in runs)
        verb = "reach" if most < 0.05 else "do not reach"
        yield (
            f"Centralized, serverless, and parameter-server training {verb} similar accuracies "
            f"with the same seed: they differ by up to {100 * most:.1f} percentage points in "
            f"{counted(len(runs), 'run')}."
        )

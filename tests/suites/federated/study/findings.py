"""What the figures of federated show, in sentences with numbers."""

from .plan import FEDERATED, WAYS


def findings(results):
    """Return sentences; where something was not measured, none about it."""
    return [*_drop(results), *_same(results)]


def _drop(results):
    iid, other = (results.spread(way, "accuracy") for way in FEDERATED.values())
    if iid is None or other is None:
        return
    figures = f"{other.text('{:.1%}')} against {iid.text('{:.1%}')}"
    if iid.num_runs == 1 or other.num_runs == 1:
        yield f"FedAvg, non-iid against iid: {figures}; how much that varies is not known."
    elif other.high < iid.low:
        yield f"FedAvg loses accuracy on clients with different labels: {figures}."
    else:
        yield f"FedAvg, non-iid against iid: {figures}; this difference is within the spread."


def _same(results):
    three = list(WAYS)[:3]
    found = {way: results.numbers(way, "accuracy") for way in three}
    runs = min(map(len, found.values()))
    if runs:
        most = max(
            max(found[way][i] for way in three) - min(found[way][i] for way in three)
            for i in range(runs)
        )
        verb = "come" if most < 0.05 else "do NOT come"
        yield (
            f"The first three ways {verb} to about the same accuracy with the same seed: they "
            f"differ by at most {100 * most:.1f} percentage points in {runs} runs."
        )

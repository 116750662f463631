"""Series for charts of trainings: measured spreads, speed-ups, modelled times, staleness."""

from grader.study import Dot, Series, Spread

from . import modelled
from .plan import BATCH_SIZE, RANKS, asynchronous, serial, sync


def sync_speed_ups(results, way):
    """Return measured speed-ups by ranks, {ranks: Spread}."""
    return speed_ups_of(results, {ranks: sync(way, ranks) for ranks in RANKS})


def speed_ups_of(results, names):
    """Return spreads of speed-ups against the serial program, by what the names are by."""
    return {x: results.speed_up(name, serial()) for x, name in names.items()}


def measured(results, label, spreads, ranks_of=lambda x: x):
    """Return the series of spreads by x; ranks_of says how many ranks an x has."""
    return Series.measured(label, spreads, lambda x: results.is_oversubscribed(ranks_of(x)))


def spreads_of(results, names, key):
    """Return the spread of what rank 0 reported, by what the names are by."""
    return {x: results.spread(name, key) for x, name in names.items()}


def modelled_times_s(results, way, network=modelled.NETWORK):
    """Return the modelled time of a synchronous training by ranks."""
    times_s = {
        ranks: modelled.sync_step_s(results, way, ranks, BATCH_SIZE // ranks, network)
        for ranks in RANKS
    }
    return {
        ranks: each * modelled.num_steps(results)
        for ranks, each in times_s.items()
        if each is not None
    }


def level(label, spread, xs):
    """Return a line at one height, for what does not depend on x."""
    if spread is None:
        return Series(label, ())
    dots = tuple(Dot.of(x, spread) for x in (min(xs), max(xs)))
    return Series(label, dots, has_marks=False)


def staleness_of(results, masters, workers):
    """Return how old gradients were, over all workers and runs: mean per run, and the most."""
    means, most = [], 0
    for ranks in results.reports(asynchronous(masters, workers)):
        ages = [age for each in ranks for age in each["staleness"]]
        if ages and max(ages) >= 0:
            means.append(sum(ages) / len(ages))
            most = max(most, *ages)
    return Spread.of(means) if means else None, most

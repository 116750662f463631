"""What ranks may give others in each round of federated averaging."""

from .contents import MOST_STEPS, Expected, expected, sums_with
from .rounds import Rounds


def expected_of_rounds(rounds: Rounds, rank: int) -> list[list[Expected]]:
    """Return for each of the first rounds the vectors of which a rank may give one.

    A client gives its model or how that has changed, weighted or not, or sums with those of others.
    """
    by_round = []
    for number in range(min(rounds.number, MOST_STEPS)):
        starts, ends = rounds.starts(number), rounds.ends(number)
        ways = {each: ends[each] - starts[each] for each in ends}
        vectors = []
        for weights in (dict.fromkeys(ends, 1), rounds.num_examples):
            some_ways, some_starts = (
                sums_with(rank, {each: weights[each] * own[each] for each in ends})
                for own in (ways, starts)
            )
            for way, start in zip(some_ways, some_starts, strict=True):
                vectors += [expected(way, start), expected(way, rounded=start)]
        by_round.append(vectors)
    return by_round


def factors_of_rounds(rounds: Rounds) -> list[float]:
    """Return by what models are usually multiplied before they are sent: 1 comes first."""
    sizes = [size for size in rounds.num_examples.values() if size]
    if not sizes:
        return [1.0]
    every = [1.0, *sizes, *(size / sum(sizes) for size in sizes), 1 / len(sizes), 1 / sum(sizes)]
    return [*dict.fromkeys(every)]

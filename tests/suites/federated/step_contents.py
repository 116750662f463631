"""What ranks may give others in each step of a data-parallel training."""

from functools import partial
from itertools import pairwise

import numpy as np

from . import lenet
from .contents import MOST_STEPS, Expected, expected, sums_with
from .steps import Steps


def expected_of_steps(steps: Steps, rank: int) -> list[list[Expected]]:
    """Return for each of the first steps the vectors of which a rank may give one.

    Its gradient, weighted or not, sums with it, a model after a step of its own, or the next model.
    Without a server, nothing that comes of all gradients: ranks that each compute the whole batch
    have it without an exchange.
    """
    computing = steps.computing
    sums = partial(sums_with, rank, has_sum_of_all=steps.has_server)
    models = steps.models(rank) if steps.has_server else []
    velocities = dict.fromkeys(computing, np.zeros(lenet.NUM_PARAMETERS))
    by_step = []
    for number in range(min(steps.number, MOST_STEPS)):
        gradients = steps.gradients(number)
        sizes = {each: len(steps.trained.batches(each)[number]) for each in computing}
        velocities = {
            each: lenet.MOMENTUM * velocities[each] + gradients[each] for each in computing
        }
        vectors = [expected(each) for each in sums(gradients)]
        if len(set(sizes.values())) > 1:
            weighted = {each: sizes[each] * gradients[each] for each in computing}
            vectors += [expected(each) for each in sums(weighted)]
        seen = {each: steps.trained.seen(each, number) for each in computing}
        ways = {each: -lenet.LEARNING_RATE * velocities[each] for each in computing}
        pairs = zip(sums(ways), sums(seen), strict=True)
        vectors += [expected(way, before) for way, before in pairs]
        vectors.append(expected(ways[rank], rounded=seen[rank]))
        if len(models) > number + 1:
            vectors.append(expected(models[number + 1] - models[number], models[number]))
        by_step.append(vectors)
    return by_step


def models_of_server(steps: Steps) -> list[list[Expected]]:
    """Return the models that the workers got after the first steps, each of which is to be sent."""
    models = steps.models(steps.computing[0])[: MOST_STEPS + 1]
    return [[expected(after - before, before)] for before, after in pairwise(models)]


def factors_of_steps(steps: Steps) -> list[float]:
    """Return by what gradients are usually multiplied before they are sent: 1 comes first."""
    sizes = [len(steps.trained.batches(rank)[0]) for rank in steps.computing]
    if not sum(sizes):
        return [1.0]
    shares = [size / sum(sizes) for size in sizes if size]
    rate, every = lenet.LEARNING_RATE, [1.0, *sizes, *shares, 1 / len(sizes), 1 / sum(sizes)]
    return [*dict.fromkeys([*filter(None, every), *(rate * each for each in (1, *shares))])]

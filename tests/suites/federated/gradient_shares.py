"""How much each rank's gradient counts in a step, and which wrong division leads to that."""

from grader.api import Finding, found

from .explaining import Mixture
from .slices import BATCH_SIZE
from .steps import Step, Steps


def shares_used(made: Mixture) -> Finding:
    """Return how much of each rank's gradient a step used."""
    shares = {
        rank: f"{share:.3g}" if rank in made.present else "0" for rank, share in made.shares.items()
    }
    used = " + ".join(f"{share} x rank {rank}'s" for rank, share in shares.items())
    if len(set(shares.values())) == 1:
        used = f"{next(iter(shares.values()))} x each rank's"
    return found(
        "gradient.shares",
        f"The step used {used} mean gradient; expected {1 / len(shares):.3g} x each.",
        shares=list(map(float, shares.values())),
    )


def division_slip(step: Step, made: Mixture, rank: int, steps: Steps) -> Finding:
    """Return which slip lets gradients count so much."""
    num_ranks = len(steps.computing)
    noun = "workers" if steps.has_server else "ranks"
    slips = {
        1.0: ("gradient.summed_not_divided", "the sum of the gradients without dividing it"),
        BATCH_SIZE / num_ranks: (
            "gradient.not_divided_by_examples",
            "gradients multiplied by each rank's number of examples, but not divided by the total "
            f"number, {BATCH_SIZE}",
        ),
        1 / BATCH_SIZE: (
            "gradient.not_times_examples",
            f"gradients divided by the total number of examples, {BATCH_SIZE}, but not multiplied "
            "by each rank's own number",
        ),
        1 / num_ranks**2: (
            "gradient.divided_twice",
            f"gradients divided twice by the number of {noun}",
        ),
        1 / steps.trained.outcome.ranks: (
            "gradient.divided_by_server_too",
            "gradients divided by the total number of ranks, the server included",
        ),
    }
    shares = [made.shares[each] for each in made.present]
    otherwise = (
        "gradient.wrong_divisor",
        f"gradients multiplied by factors other than 1/{num_ranks}, although there are {num_ranks} "
        f"{noun}",
    )
    fitting = [
        slip
        for share, slip in slips.items()
        if all(abs(each / share - 1) < 0.03 for each in shares)
    ]
    key, words = next(iter(fitting), otherwise)
    told = f"In step {step.number}, rank {rank} used {words}."
    compare = "compare the factor applied to each gradient with the divisor of the sum"
    return found(key, told, help=compare, rank=rank, step=step.number)

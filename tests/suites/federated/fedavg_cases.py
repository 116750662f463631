"""The cases of the two FedAvg parts, and what is asked of a run as checks of a suite."""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from grader.api import Launch, Outcome, WrongAnswer, case_context, counted, holds, not_run

from .aggregation import FILE
from .answered import Check
from .client_checks import (
    assert_five_rounds,
    assert_half_of_parts,
    assert_local_sgd,
    assert_own_examples,
    assert_parts_differ,
)
from .contents import assert_contents
from .gathering import assert_gives, assert_gives_once, assert_server_gives, assert_star
from .image_contents import assert_images_given
from .round_checks import (
    assert_common_starts,
    assert_equal_weights,
    assert_global_model_used,
    assert_means,
    assert_model_kept,
    assert_several_in_global_models,
    assert_weights,
    ranks_in_global_models,
)
from .round_contents import expected_of_rounds, factors_of_rounds
from .rounds import Rounds
from .steps import assert_gradients_computed
from .training_cases import Trained, Training

UNBUFFERED_RANKS = 3
MORE_THAN_ALL = 10**6
"""Gradients that no client computes: a run that ends where its script does."""
_FIGURE = (
    "rank 0 must save a figure of the clients' labels, for instance with plot_data_split from "
    "utils.py; .png, .jpg, .jpeg, .pdf, and .svg files are accepted"
)


def cases_of(
    sizes_by_ranks: Mapping[int, tuple[int, ...]], *, is_skewed: bool
) -> dict[int, tuple[Training, ...]]:
    """Return what is run on each number of ranks.

    sizes_by_ranks: how many examples each client has.
    """
    cases: dict[int, tuple[Training, ...]] = {}
    for ranks, sizes in sizes_by_ranks.items():
        ordinary = Training(
            "train",
            file=FILE,
            num_training=sum(sizes),
            client_sizes=sizes,
            num_givers=len(sizes),
            is_skewed=is_skewed,
        )
        # The last of its launch: what hangs there has been judged in all else.
        unbuffered = (replace(ordinary, synchronous_sends=True),)
        cases[ranks] = (ordinary, *(unbuffered if ranks == UNBUFFERED_RANKS else ()))
    return cases


class RoundChecks:
    """What is asked of runs of federated averaging: each attribute is one check.

    What is found out about the rounds of an outcome is kept: many questions are asked of each.
    """

    def __init__(self) -> None:
        self._rounds: dict[int, Rounds] = {}
        self.own_examples = self._of_rounds(assert_own_examples)
        self.parts_differ = self._of_rounds(assert_parts_differ)
        self.half_of_parts = self._of_rounds(assert_half_of_parts)
        self.five_rounds = self._of_rounds(assert_five_rounds)
        self.local_sgd = self._of_rounds(assert_local_sgd)
        self.common_starts = self._of_rounds(assert_common_starts)
        self.global_model_used = self._of_rounds(assert_global_model_used)
        self.several_in_global_models = self._of_rounds(assert_several_in_global_models)
        self.means = self._of_rounds(assert_means)
        self.weights = self._of_rounds(assert_weights)
        self.equal_weights = self._of_rounds(assert_equal_weights)
        self.model_kept = self._of_rounds(assert_model_kept)
        clients = (self.own_examples, self.five_rounds, self.local_sgd, self.common_starts)
        self.training: tuple[Check, ...] = (*clients, self.means, self.weights)
        """What makes a training that of FedAvg, whatever is called `model` after it."""
        self.everything = (*self.training, self.model_kept)

    def ranks_used_by_others(self, case: Training, outcome: Outcome) -> frozenset[int]:
        """Return the clients whose models are in a global one."""
        return ranks_in_global_models(self._rounds_of(case, outcome))

    def num_rounds(self, case: Training, outcome: Outcome) -> int:
        """Return how many rounds the clients took part in."""
        return self._rounds_of(case, outcome).number

    def served(self, case: Training, outcome: Outcome) -> None:
        """Assert that the server gives each client its examples and, in every round, the model."""
        number = self.num_rounds(case, outcome)
        with case_context(case, outcome):
            examples = {
                rank: len(np.unique(outcome["rows"][rank])) for rank in range(1, outcome.ranks)
            }
            assert_server_gives(outcome.trace, examples, number, when=_rounds(number))
            assert_images_given(outcome.trace, examples, outcome.inputs[0]["images"])

    def models_exchanged(self, case: Training, outcome: Outcome) -> None:
        """Assert that clients give the server a model a round, and talk with nobody else."""
        number = self.num_rounds(case, outcome)
        with case_context(case, outcome):
            clients = range(1, outcome.ranks)
            assert_gives(outcome.trace, clients, number, what=f"models of {_rounds(number)}")
            assert_star(outcome.trace)

    def assert_contents(self, case: Training, outcome: Outcome) -> None:
        """Assert that clients give the server their models, by samples. Raises NotProven.

        All clients in the first rounds; one of them once where the training is wrong, and nothing
        where their steps cannot be explained or numbers are not finite.
        """
        is_right = all(holds(check, case, outcome) for check in self.training)
        with case_context(case, outcome), contextlib.suppress(WrongAnswer):
            rounds = self._rounds_of(case, outcome)
            if rounds.local is not None:
                assert_contents(
                    outcome.trace,
                    rounds.clients,
                    lambda rank: expected_of_rounds(rounds, rank),
                    factors_of_rounds(rounds),
                    is_right=is_right,
                    least=len(rounds.clients) if is_right else 1,
                )

    def sent_once(self, case: Training, outcome: Outcome) -> None:
        """Assert that each client gives its model away once a round, and little besides."""
        number = self.num_rounds(case, outcome)
        with case_context(case, outcome):
            clients = range(1, outcome.ranks)
            assert_gives_once(outcome.trace, clients, number, what=f"models of {_rounds(number)}")

    def _rounds_of(self, case: Training, outcome: Outcome) -> Rounds:
        if id(outcome) not in self._rounds:
            self._rounds[id(outcome)] = Rounds(Trained(case, outcome))
        return self._rounds[id(outcome)]

    def _of_rounds(self, question: Callable[[Rounds], None]) -> Check:
        def check(case: Training, outcome: Outcome) -> None:
            with case_context(case, outcome):
                question(self._rounds_of(case, outcome))

        return check


def assert_exchanged(launch: Launch) -> None:
    """Assert that each client gets examples and a model from the server, and gives a model away.

    If a run ends, its clients must have trained. Skips if there was no run.
    """
    attempts = launch.attempts()
    if not attempts:
        not_run("needs a run of the script")
    for case, attempt in attempts:
        clients = range(1, attempt.ranks)
        examples = dict.fromkeys(clients, min(case.client_sizes))
        assert_server_gives(attempt.trace, examples, 1, when=_rounds(1))
        assert_gives(attempt.trace, clients, 1, what="model of one round")
    for case, outcome in launch.answers():
        if isinstance(outcome, Outcome):
            assert_gradients_computed(Trained(case, outcome), range(1, outcome.ranks))


def assert_figure(case: Training, outcome: Outcome) -> None:
    """Assert that rank 0 has drawn how the labels are distributed."""
    files = outcome["figures"][0].split("\n")
    if any(name and not name.startswith("!") for name in files):
        return
    with case_context(case, outcome):
        if name := files[0][1:]:
            told = f"{name} is not an image."
            raise WrongAnswer.of("figure.not_an_image", told, help=_FIGURE, name=name)
        told = "The script saved no file under figures/."
        raise WrongAnswer.of("figure.missing", told, help=_FIGURE)


def _rounds(number: int) -> str:
    return counted(number, "round")

"""A wrong value is told with its case, and after the collective that explains it."""

from dataclasses import dataclass

import pytest

from grader.grading_plugin.case import Case
from grader.grading_plugin.launch_results import case_context
from grader.judge.check_failures import WrongAnswer
from grader.model.report import Outcome
from grader.trace.calls import Trace

from ..judge.build import Run


@dataclass(frozen=True)
class Named(Case):
    """A case of which the name alone counts."""

    label: str = "length 7"


def outcome(trace: Trace) -> Outcome:
    """Return what came of a case in which these calls were made."""
    return Outcome("length 7", 2, ({}, {}), ({}, {}), trace, 1.0)


@pytest.mark.parametrize(
    ("lengths", "keys"), [((3, 3), ["value"]), ((3, 4), ["collective.other_size", "value"])]
)
def test_a_collective_of_other_sizes_comes_before_the_value(lengths, keys):
    """Wrong values follow from it."""
    run = Run(2)
    for rank, length in enumerate(lengths):
        run.call(rank, "Bcast", peer=0, num_elements=length, num_bytes=8 * length)
    told = pytest.raises(WrongAnswer, match=r"^2 ranks, length 7: ")
    with told as error, case_context(Named("probe"), outcome(run.trace())):
        raise WrongAnswer("recv differs")
    assert [each.key or "value" for each in error.value.findings] == keys

"""Programs with the address of node 0 in their code are joined, and no others."""

import pytest
from vgg_ddp.addresses import joined_where_needed
from vgg_ddp.train_cases import cases_by_ranks

from grader.grading_plugin.launch_results import make_launch
from grader.model.report import RunFailure, Verdict

from .trainings import EPOCH, outcome, right

CASES = cases_by_ranks("part3/main.py", how="ddp")
OTHER_ADDRESS = (
    "RuntimeError: init_process_group looks for rank 0 at localhost:29500, not at 127.0.0.2:PORT"
)
NO_OPTION = "main.py: error: unrecognized arguments: --master-ip 127.0.0.2"


def asked(detail: str, ranks: int) -> list[bool]:
    """Return which cases on so many nodes are joined if the first on 4 nodes fails so."""
    crash = RunFailure(Verdict.RUN_TIME_ERROR, "crashed", detail=detail)

    def run(ranks, cases):
        asked.append(cases)
        answers = [crash if detail else outcome(EPOCH, right(4)) for _ in cases]
        return make_launch(cases, answers, ranks)

    asked = []
    joined_where_needed(run, CASES[4])(ranks, CASES[ranks])
    return [case.is_helped for case in asked[-1]]


@pytest.mark.parametrize("detail", [f"  File x\n{OTHER_ADDRESS}", f"usage: main.py\n{NO_OPTION}"])
def test_all_but_the_whole_program_is_joined_on_4_nodes(detail):
    expected = [case.extent != "program" for case in CASES[4]]
    assert asked(detail, 4) == expected
    assert expected.count(False) == 1


@pytest.mark.parametrize("detail", ["", "RuntimeError: Default process group has not been set up"])
def test_others_are_run_as_they_are(detail):
    assert not any(asked(detail, 4))


def test_on_fewer_nodes_a_program_starts_by_itself():
    assert not any(asked(OTHER_ADDRESS, 2))

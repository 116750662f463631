"""Programs with the address of node 0 in their code are joined, and no others."""

import pytest
from vgg_ddp.addresses import joined_where_needed
from vgg_ddp.train_cases import cases_by_ranks

from grader.grading_plugin.launch_results import make_launch
from grader.model.report import Finding, RunFailure, Verdict

from .trainings import EPOCH, outcome, right

CASES = cases_by_ranks("part3/main.py", how="ddp")
OTHER_ADDRESS = "init_process_group looks for rank 0 at localhost:29500, not at 127.0.0.2:PORT"
NO_OPTION = "main.py: error: unrecognized arguments: --master-ip 127.0.0.2"


def asked(message: str, printed: str, ranks: int) -> list[bool]:
    """Return which cases on so many nodes are joined if the first on 4 nodes fails so."""
    told = Finding("crash.runtime_error", "crashed", {"message": message})
    crash = RunFailure.of(Verdict.RUN_TIME_ERROR, told, detail=printed)

    def run(ranks, cases):
        asked.append(cases)
        answers = [crash if message else outcome(EPOCH, right(4)) for _ in cases]
        return make_launch(cases, answers, ranks)

    asked = []
    joined_where_needed(run, CASES[4])(ranks, CASES[ranks])
    return [case.is_helped for case in asked[-1]]


@pytest.mark.parametrize("said", [(OTHER_ADDRESS, ""), ("2", f"usage: main.py\n{NO_OPTION}")])
def test_all_but_the_whole_program_is_joined_on_4_nodes(said):
    expected = [case.extent != "program" for case in CASES[4]]
    assert asked(*said, 4) == expected
    assert expected.count(False) == 1


@pytest.mark.parametrize(
    "said", [("", ""), ("Default process group has not been set up", OTHER_ADDRESS)]
)
def test_others_are_run_as_they_are(said):
    """Also those that only print the sentence."""
    assert not any(asked(*said, 4))


def test_on_fewer_nodes_a_program_starts_by_itself():
    assert not any(asked(OTHER_ADDRESS, "", 2))

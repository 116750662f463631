"""A launch has no more ranks than there are users for."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from observations import plan

from grader.model.report import Array, MessageFault, Text
from grader.observe.forkserver import run_users
from grader.recording.launch_plan import (
    MAX_NUM_RANKS,
    NOT_IN_KEY,
    CaseCall,
    LaunchAllowance,
    LaunchPlan,
    Limits,
    field_digests,
    key_of,
)


def test_each_rank_of_a_launch_has_a_user_of_its_own():
    """The forkserver imports nothing of the engine, so the number stands there as well."""
    assert MAX_NUM_RANKS == run_users.MAX_NUM_RANKS
    replace(plan(), ranks=MAX_NUM_RANKS)
    with pytest.raises(ValueError, match="a launch can have at most 62 ranks"):
        replace(plan(), ranks=MAX_NUM_RANKS + 1)


PROBES = 'def probe(student):\n    """Calls it."""\n    return {}\n'
PLAN = LaunchPlan(
    ranks=3,
    cases=(
        CaseCall(
            "length 5",
            "probe",
            False,
            ({"data": np.arange(5.0), "lr": 0.1, "names": ["a", "b"], "more": {"n": None}},),
            ({"value": Array("float64", (None, 2)), "said": Text()},),
            MessageFault(rank=1, number=None),
        ),
    ),
    probes={"__init__": PROBES},
    backend="mpi",
    standalone=False,
    entry="ring(comm)",
    submission={"ring.py": b"x = 1\n"},
    support={"utils.py": b"y = 2\n", "data.csv": b"1,2\n"},
)


def plan_key(plan: LaunchPlan) -> str:
    return key_of(field_digests(plan))


def other(value: Any) -> Any:
    """Return a value of the same kind that is not equal to it."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str() | bytes():
            return value + value[:1] if value else type(value)(b"z" if value == b"" else "z")
        case None:
            return 7
        case np.ndarray():
            return value + 1
        case dict():
            return {**value, "z": ""}
        case tuple() | list():
            return (*value, value[0] if value else "z")
        case MessageFault() | Limits() | LaunchAllowance():
            return replace(value, **{name: other(getattr(value, name)) for name in names(value)})
    raise TypeError(type(value))


def names(value: Any) -> list[str]:
    return [field.name for field in fields(value)]


def changed() -> list[tuple[str, LaunchPlan]]:
    """Return the plan with one field changed, of itself and of all that it holds."""
    case = PLAN.cases[0]
    array, text = case.expected[0].values()
    nouns = [
        (PLAN, lambda it: it),
        (PLAN.limits, lambda it: replace(PLAN, limits=it)),
        (case, lambda it: replace(PLAN, cases=(it,))),
        (case.message_fault, lambda it: of_case(message_fault=it)),
        (array, lambda it: of_case(expected=({"value": it, "said": text},))),
        (text, lambda it: of_case(expected=({"value": array, "said": it},))),
    ]
    return [
        (f"{type(noun).__name__}.{name}", within(replace(noun, **{name: other_of(noun, name)})))
        for noun, within in nouns
        for name in names(noun)
    ]


def other_of(noun: Any, name: str) -> Any:
    if (noun, name) == (PLAN, "ranks"):
        return 2
    return other(getattr(noun, name))


def of_case(**fields_: Any) -> LaunchPlan:
    return replace(PLAN, cases=(replace(PLAN.cases[0], **fields_),))


@pytest.mark.parametrize(("field", "plan"), [pytest.param(*each, id=each[0]) for each in changed()])
def test_no_field_is_forgotten(field, plan):
    """All but those that nothing seen depends on."""
    assert plan != PLAN if "inputs" not in field else True
    assert (plan_key(plan) == plan_key(PLAN)) == (field.partition(".")[2] in NOT_IN_KEY)


@pytest.mark.parametrize(
    "plan",
    [
        of_case(inputs=({**PLAN.cases[0].inputs[0], "data": np.arange(5)},)),
        of_case(inputs=({**PLAN.cases[0].inputs[0], "data": np.arange(5.0).reshape(5, 1)},)),
        of_case(inputs=({**PLAN.cases[0].inputs[0], "lr": np.float32(0.1)},)),
        of_case(inputs=({**PLAN.cases[0].inputs[0], "lr": "0.1"},)),
        of_case(inputs=({**PLAN.cases[0].inputs[0], "names": ["ab"]},)),
        of_case(inputs=({**PLAN.cases[0].inputs[0], "more": {"n": 0}},)),
        replace(PLAN, submission={"ring.py": b"x = 1  # of mine\n"}),
        replace(PLAN, submission={"ring.pyx": b" = 1\n"}),
        replace(PLAN, support={**PLAN.support, "data.csv": b"1,2\n\n"}),
        replace(PLAN, probes={"__init__": PROBES.replace("{}", "{'a': 1}")}),
        replace(PLAN, probes={"__init__": PROBES, "more": ""}),
    ],
)
def test_what_ranks_are_given_counts_to_the_byte(plan):
    """Arrays with their type and shape; a submission with its comments."""
    assert plan_key(plan) != plan_key(PLAN)


def test_the_order_of_names_does_not_count():
    """Nor how long a part may take."""
    support = dict(reversed(PLAN.support.items()))
    longer = replace(PLAN.limits, part_s=99.0)
    assert plan_key(replace(PLAN, support=support, limits=longer)) == plan_key(PLAN)


def test_what_has_no_key_is_no_plan():
    """Rather than the address of an object, which is another one the next time."""
    for value in (object(), np.array([object()]), {1, 2}):
        with pytest.raises(TypeError):
            plan_key(of_case(inputs=({"data": value},)))

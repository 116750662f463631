"""What must come of the eyeriss part: ofmap, the rules of the dataflow, and the cycles."""

import numpy as np

from grader.api import Outcome, WrongAnswer, assert_every_rank, case_context

from .eyeriss_cases import Convolution, SequentialCycles, convolve
from .replay import Rule, broken_rules, leaving_cycles
from .schedule import Sizes, Work, works


def assert_ofmap(case: Convolution, outcome: Outcome) -> None:
    """Assert that the ofmap is the convolution with stride 1 and without padding."""
    with case_context(case, outcome):
        _assert_well_formed(outcome, "ofmap")
        given = outcome.inputs[0]
        expected = convolve(given["ifmap"], given["kernel"])
        try:
            assert_every_rank(outcome["ofmap"], equals=expected, name="ofmap")
        except WrongAnswer as error:
            (held,) = outcome["ofmap"]
            flipped = convolve(given["ifmap"], given["kernel"][::-1, ::-1])
            hint = ""
            if np.array_equal(held, flipped):
                hint = ". It is the convolution with the kernel turned by 180 degrees; here the "
                hint += "kernel is laid on as it is"
            elif np.array_equal(held, expected.T):
                hint = ". It is the right matrix transposed"
            raise WrongAnswer(f"{error}{hint}") from None


def assert_counts(case: Convolution, outcome: Outcome) -> None:
    """Assert that there are as many multiplies and adds as the convolution has."""
    with case_context(case, outcome):
        schedule = _schedule(outcome)
        num_multiplies = sum(work.op == "multiply" for work in schedule)
        num_adds = len(schedule) - num_multiplies
        sizes = case.sizes
        if (num_multiplies, num_adds) != (sizes.num_multiplies, sizes.num_adds):
            raise WrongAnswer(
                f"the schedule has {num_multiplies} multiplies and {num_adds} adds (psums "
                f"included), expected {sizes.num_multiplies} and {sizes.num_adds}: each of the "
                f"{sizes.out_rows * sizes.out_cols} outputs is a sum of "
                f"{sizes.kernel_rows * sizes.taps} products"
            )


def assert_own_rows(case: Convolution, outcome: Outcome) -> None:
    """Assert that each element does the work of its own rows, all of it and once."""
    _assert_rule(Rule.OWN_WORK, case, outcome)


def assert_one_operation_a_cycle(case: Convolution, outcome: Outcome) -> None:
    """Assert that no element does two operations in one cycle."""
    with case_context(case, outcome):
        _assert_unbroken(Rule.ONE_A_CYCLE, case, outcome)


def assert_operands_exist(case: Convolution, outcome: Outcome) -> None:
    """Assert that each operand is made in an earlier cycle than it is used."""
    _assert_rule(Rule.OPERANDS, case, outcome)


def assert_values(case: Convolution, outcome: Outcome) -> None:
    """Assert that the value of each operation is what its operands make."""
    _assert_rule(Rule.VALUE, case, outcome)


def _assert_rule(rule: Rule, case: Convolution, outcome: Outcome) -> None:
    """Assert that no operation breaks a rule about what operations work on."""
    with case_context(case, outcome):
        _assert_well_formed(outcome, "operands")
        _assert_unbroken(rule, case, outcome)


def _assert_unbroken(rule: Rule, case: Convolution, outcome: Outcome) -> None:
    """Assert that no operation of the schedule breaks this rule; other rules are not looked at."""
    given = outcome.inputs[0]
    found = broken_rules(_most_of_a_schedule(case, outcome), given["ifmap"], given["kernel"])
    broken = [each.sentence for each in found if each.rule is rule]
    if broken:
        more = f" ({len(broken)} times in all)" if len(broken) > 1 else ""
        raise WrongAnswer(f"{broken[0]}{more}; {rule.value}")


def assert_outputs_leave_on_time(case: Convolution, outcome: Outcome) -> None:
    """Assert that each output is complete when the model of the array says, and nothing follows.

    Cycles are counted from the first operation, whatever number it has.
    """
    with case_context(case, outcome):
        schedule, sizes = _most_of_a_schedule(case, outcome), case.sizes
        offset = schedule[0].cycle - 1
        leaving = leaving_cycles(schedule)
        for f in range(sizes.out_cols):
            for e in range(sizes.out_rows):
                expected = sizes.leaves_in(f) + offset
                found = leaving.get((e, f))
                if found != expected:
                    told = f"in cycle {found}" if found is not None else "never"
                    raise WrongAnswer(
                        f"ofmap[{e}][{f}] leaves PE(0, {e}) {told}, expected cycle {expected} "
                        f"({_formula(sizes)}){_known_time(schedule, sizes)}"
                    )
        last, makespan = schedule[-1].cycle, sizes.leaves_in(sizes.out_cols - 1) + offset
        if last != makespan:
            raise WrongAnswer(
                f"the last operation is {schedule[-1]}; the array is done in cycle {makespan}, "
                "when the last output leaves"
            )


def assert_cycles_count_from_one(case: Convolution, outcome: Outcome) -> None:
    """Assert that the first operation is in cycle 1."""
    with case_context(case, outcome):
        first = _most_of_a_schedule(case, outcome)[0].cycle
        if first != 1:
            raise WrongAnswer(f"the first operation is in cycle {first}; cycles count from 1")


def assert_sequential_cycles(case: SequentialCycles, outcome: Outcome) -> None:
    """Assert that sequential_cycles gives the number of all operations."""
    with case_context(case, outcome):
        (problem,) = outcome["problem"]
        if problem:
            raise WrongAnswer(problem)
        for (height, width, rows, taps), found in zip(
            case.shapes, outcome["cycles"][0].tolist(), strict=True
        ):
            sizes = Sizes(rows, taps, height - rows + 1, width - taps + 1)
            expected = sizes.num_multiplies + sizes.num_adds
            if found != expected:
                raise WrongAnswer(
                    f"sequential_cycles(({height}, {width}), ({rows}, {taps})) is {found}, "
                    f"expected {expected}: one element does {sizes.num_multiplies} multiplies and "
                    f"{sizes.num_adds} adds, one a cycle"
                )


def _assert_well_formed(outcome: Outcome, what: str) -> None:
    """Raise what the probe said about the form of the ofmap, the schedule, or the operands."""
    (problem,) = outcome[f"{what}_problem"]
    if problem:
        raise WrongAnswer(problem)


def _schedule(outcome: Outcome) -> list[Work]:
    """Return the operations in time order."""
    _assert_well_formed(outcome, "schedule")
    (schedule,), (values,) = outcome["schedule"], outcome["values"]
    return works(schedule, values)


def _most_of_a_schedule(case: Convolution, outcome: Outcome) -> list[Work]:
    """Return the operations in time order, if their number allows to judge rules by them.

    An empty schedule breaks no rule, and very many operations take the replay very long.
    Raises WrongAnswer for less than half of the operations, or more than twice as many.
    """
    schedule = _schedule(outcome)
    num_different = len({work.key for work in schedule})
    expected = case.sizes.num_multiplies + case.sizes.num_adds
    if 2 * num_different < expected or len(schedule) > 2 * expected:
        raise WrongAnswer(
            f"the schedule has {len(schedule)} operations, {num_different} of them different, "
            f"expected {expected}: it is not looked at whether they keep to the rules"
        )
    return schedule


def _formula(sizes: Sizes) -> str:
    if sizes.kernel_rows == 1:
        return "(2S - 1)(f + 1) with one row of elements"
    return "2S(f + 1) + R - 2"


def _known_time(schedule: list[Work], sizes: Sizes) -> str:
    """Return the model that would give exactly this time, if it is a known one."""
    last = schedule[-1].cycle
    if last == sizes.num_multiplies + sizes.num_adds:
        return (
            f". The schedule takes {last} cycles in all: that is the number of operations, the "
            "time of a single element; in the array the elements work at the same time"
        )
    if last == sizes.taps * sizes.out_cols + sizes.kernel_rows:
        return (
            f". The schedule takes {last} cycles in all: so would elements with a multiplier and "
            "an adder that work at the same time; these have one unit for both"
        )
    return ""

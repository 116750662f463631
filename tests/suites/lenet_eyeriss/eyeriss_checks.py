"""What must come of the eyeriss part: ofmap, the rules of the dataflow, and the cycles."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from grader.api import (
    Finding,
    Launch,
    Outcome,
    RunFailed,
    WrongAnswer,
    assert_every_rank,
    case_context,
    found,
)

from .eyeriss_cases import Convolution, SequentialCycles, convolve
from .replay import Rule, adds_in_order, broken_rules, leaving_cycles, waiting
from .schedule import Key, Matrix, Sizes, Work, works

_MALFORMED = {
    "ofmap": "ofmap.malformed",
    "schedule": "schedule.malformed",
    "operands": "schedule.operands_malformed",
}
"""The key of what is wrong with the form of each piece of an answer."""
_NO_OPERAND = ("dataflow.operand_outside", "dataflow.operand_never_made")


@contextmanager
def told_size(launch: Launch) -> Iterator[None]:
    """Add the size to what is said of a case that does not name it. Raises what the body raises.

    launch: whose cases the body looks at.
    """
    try:
        yield
    except (WrongAnswer, RunFailed) as error:
        drawn = [
            answer.inputs[0]
            for case, answer in launch.attempts()
            if case.shapes is None and case.label in str(error)
        ]
        if not drawn:
            raise
        ifmap, kernel = (drawn[0][name].shape for name in ("ifmap", "kernel"))
        text = f"The ifmap was {ifmap[0]} x {ifmap[1]}, the kernel {kernel[0]} x {kernel[1]}."
        size = found("convolution.random_size", text, ifmap=ifmap, kernel=kernel)
        if isinstance(error, WrongAnswer):
            raise error.followed_by(size) from None
        failure = error.failure
        message = f"{failure.message.removesuffix('.')}. {size}"
        findings = (*failure.findings, size)
        raise RunFailed(replace(failure, message=message, findings=findings)) from None


def assert_ofmap(case: Convolution, outcome: Outcome) -> None:
    """Assert that the ofmap is the convolution with stride 1 and without padding."""
    with case_context(case, outcome):
        _assert_well_formed(outcome, "ofmap")
        given = outcome.inputs[0]
        expected = convolve(given["ifmap"], given["kernel"])
        try:
            assert_every_rank(outcome["ofmap"], equals=expected, name="ofmap")
        except WrongAnswer as error:
            flipped = convolve(given["ifmap"], given["kernel"][::-1, ::-1])
            reasons = _known_ofmap(outcome["ofmap"][0], flipped, expected.T)
            raise WrongAnswer.at([*reasons, *error.findings], error.differences) from None


def _known_ofmap(held: Matrix, flipped: Matrix, transposed: Matrix) -> Iterator[Finding]:
    """Yield the mistake that would give this ofmap, if it is a usual one."""
    if np.array_equal(held, flipped):
        text = "The ofmap is the convolution with the kernel rotated by 180 degrees."
        helps = "compare your kernel and ifmap indices with the formula in the handout"
        yield found("ofmap.kernel_turned", text, help=helps)
    elif np.array_equal(held, transposed):
        text = "The ofmap is transposed: its rows and columns are swapped."
        yield found("ofmap.transposed", text, help="what is the first index of the ofmap, e or f?")


def assert_counts(case: Convolution, outcome: Outcome) -> None:
    """Assert that there are as many multiplies and adds as the convolution has."""
    with case_context(case, outcome):
        schedule = _schedule(outcome)
        num_multiplies = sum(work.op == "multiply" for work in schedule)
        num_adds = len(schedule) - num_multiplies
        sizes = _sizes(outcome)
        if (num_multiplies, num_adds) != (sizes.num_multiplies, sizes.num_adds):
            raise WrongAnswer.of(
                "schedule.wrong_counts",
                f"The schedule has {num_multiplies} multiplies and {num_adds} adds, psums "
                f"included; expected {sizes.num_multiplies} and {sizes.num_adds}.",
                help=f"each of the {sizes.out_rows * sizes.out_cols} outputs is a sum of "
                f"{sizes.kernel_rows * sizes.taps} products",
                num_multiplies=num_multiplies,
                num_adds=num_adds,
                expected=(sizes.num_multiplies, sizes.num_adds),
            )
        _most_of_a_schedule(case, outcome)


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
    """Assert that the value of each operation is what its operands make.

    A third of them or more must have operands.
    """
    _assert_rule(Rule.VALUE, case, outcome)
    with case_context(case, outcome):
        given, schedule = outcome.inputs[0], _schedule(outcome)
        broken = broken_rules(schedule, given["ifmap"], given["kernel"])
        number = len(schedule) - sum(each.finding.key in _NO_OPERAND for each in broken)
        if 3 * number < len(schedule):
            some = f"Only {number}" if number else "None"
            text = f"{some} of the {len(schedule)} operations have operands that exist. "
            text += "The grader did not check the values."
            raise WrongAnswer.of("dataflow.few_operands", text, number=number)


def _assert_rule(rule: Rule, case: Convolution, outcome: Outcome) -> None:
    """Assert that no operation breaks a rule about what operations work on."""
    with case_context(case, outcome):
        _assert_well_formed(outcome, "operands")
        _assert_unbroken(rule, case, outcome)


def _assert_unbroken(rule: Rule, case: Convolution, outcome: Outcome) -> None:
    """Assert that no operation of the schedule breaks this rule; other rules are not looked at."""
    given = outcome.inputs[0]
    schedule = _most_of_a_schedule(case, outcome)
    broken = [
        each.finding
        for each in broken_rules(schedule, given["ifmap"], given["kernel"])
        if each.rule is rule
    ]
    if broken:
        times = "once" if len(broken) == 1 else f"{len(broken)} times"
        text = f"Rule: {rule.value}. The schedule breaks it {times}."
        raise WrongAnswer(broken[0], found("dataflow.rule_broken", text, number=len(broken)))


def assert_outputs_leave_on_time(case: Convolution, outcome: Outcome) -> None:
    """Assert that each output is complete when the model of the array says, and nothing waits.

    If operations lack operands, half of the multiplies must at least have the value of a product.
    """
    if outcome["operands_problem"][0]:
        with case_context(case, outcome):
            _assert_products(_most_of_a_schedule(case, outcome), outcome)
    assert_times(case, outcome)


def _assert_products(schedule: list[Work], outcome: Outcome) -> None:
    """Assert that half of the products of each element are made there. Raises WrongAnswer."""
    kernel, ifmap = outcome.inputs[0]["kernel"], outcome.inputs[0]["ifmap"]
    expected = Counter(
        ((r, e), f, float(kernel[r, s] * ifmap[r + e, f + s]))
        for op, (r, e), f, s in _sizes(outcome).all_keys()
        if op == "multiply"
    )
    done = (work for work in schedule if work.op == "multiply")
    number = (expected & Counter((work.pe, work.out_col, work.value) for work in done)).total()
    if 2 * number < expected.total():
        some = f"only {number}" if number else "none"
        text = f"Operations lack operands, and the schedule has {some} of the {expected.total()} "
        text += "products. The grader did not check when the outputs leave."
        raise WrongAnswer.of("latency.few_products", text, number=number)


def assert_times(case: Convolution, outcome: Outcome) -> None:
    """Assert the same of the cycles alone, whatever is computed in them.

    Cycles are counted from the first operation, whatever number it has. A time means nothing where
    most adds are in a cycle with other operations, or not after their operands.
    """
    with case_context(case, outcome):
        schedule, sizes = _most_of_a_schedule(case, outcome), _sizes(outcome)
        given = outcome.inputs[0]
        in_order, num_adds = adds_in_order(
            schedule,
            given["ifmap"],
            given["kernel"],
            says_operands=not outcome["operands_problem"][0],
        )
        if 3 * in_order < num_adds:
            come, have = "come after their", "have their PE to themselves"
            if in_order == 1:
                come, have = "comes after its", "has its PE to itself"
            some = f"Only {in_order}" if in_order else "None"
            text = f"{some} of the {num_adds} adds {come} operands and {have} in that cycle. "
            text += "The grader did not check when the outputs leave."
            raise WrongAnswer.of("latency.no_order", text, number=in_order)
        offset = schedule[0].cycle - 1
        begins = f", and the schedule begins in cycle {schedule[0].cycle}" if offset else ""
        leaving = leaving_cycles(schedule, sizes)
        for f in range(sizes.out_cols):
            for e in range(sizes.out_rows):
                expected = sizes.leaves_in(f) + offset
                cycle = leaving.get((e, f))
                if cycle != expected:
                    told = f" in cycle {cycle}" if cycle is not None else ""
                    raise WrongAnswer(
                        *_known_time(schedule, sizes),
                        found(
                            "latency.wrong_cycle",
                            f"ofmap[{e}][{f}] {'' if told else 'never '}leaves PE(0, {e}){told}; "
                            f"expected cycle {expected} ({_formula(sizes)}{begins}).",
                            output=(e, f),
                            cycle="never" if cycle is None else cycle,
                            expected=expected,
                        ),
                    )
        last, makespan = schedule[-1], sizes.leaves_in(sizes.out_cols - 1) + offset
        if last.cycle != makespan:
            text = f"{last}, but the last output leaves in cycle {makespan}."
            facts = {**last.facts, "makespan": makespan}
            raise WrongAnswer.of("latency.work_after_last_output", text, **facts)
        with_operands = [] if outcome["operands_problem"][0] else schedule
        for work, cycle in waiting(with_operands, given["ifmap"], given["kernel"]):
            text = f"{work}, but it could begin in cycle {cycle}."
            helps = "an operation begins as soon as its PE is free and its operands exist"
            raise WrongAnswer.of("latency.waits", text, help=helps, **work.facts, could=cycle)


def does_its_own(case: Convolution, outcome: Outcome, *ops: str) -> bool:
    """Return whether each element does all its operations of these kinds, as if alone in the array.

    Each once, one in a cycle, with the values of operands that were made before.
    """
    given, num_expected = outcome.inputs[0], len([*_sizes(outcome).all_keys()])
    if outcome["operands_problem"][0] or len(outcome["schedule"][0]) > 2 * num_expected:
        return False
    done = [work for work in _schedule(outcome) if work.op in ops]
    broken = broken_rules(done, given["ifmap"], given["kernel"])
    missing = [each.finding for each in broken if each.finding.key == "dataflow.never_done"]
    return len(missing) == len(broken) and not any(each.facts["op"] in ops for each in missing)


def assert_cycles_count_from_one(case: Convolution, outcome: Outcome) -> None:
    """Assert that the first operation is in cycle 1."""
    with case_context(case, outcome):
        first = _most_of_a_schedule(case, outcome)[0].cycle
        if first != 1:
            text = f"The first operation is in cycle {first}; cycles are counted from 1."
            raise WrongAnswer.of("schedule.does_not_begin_in_cycle_1", text, first=first)


def assert_sequential_cycles(case: SequentialCycles, outcome: Outcome) -> None:
    """Assert that sequential_cycles gives the number of all operations."""
    with case_context(case, outcome):
        (problem,) = outcome["problem"]
        if problem:
            raise WrongAnswer(_no_count(problem))
        shapes, counts = outcome.inputs[0]["shapes"].tolist(), outcome["cycles"][0].tolist()
        for (height, width, rows, taps), cycles in zip(shapes, counts, strict=True):
            sizes = Sizes(rows, taps, height - rows + 1, width - taps + 1)
            expected = sizes.num_multiplies + sizes.num_adds
            if cycles != expected:
                call = f"sequential_cycles(({height}, {width}), ({rows}, {taps}))"
                numbers = found(
                    "sequential.wrong_number",
                    f"{call} returned {cycles}; expected {expected}.",
                    help=f"a single PE does {sizes.num_multiplies} multiplies and "
                    f"{sizes.num_adds} adds, one per cycle",
                    call=call,
                    cycles=cycles,
                    expected=expected,
                )
                raise WrongAnswer(*_known_count(cycles, sizes), numbers)


def _known_count(cycles: int, sizes: Sizes) -> Iterator[Finding]:
    """Yield the mistake that would give this number, if it is a usual one."""
    if cycles == sizes.leaves_in(sizes.out_cols - 1):
        text = "sequential_cycles returns the time for the whole array, not for a single PE."
        yield found("sequential.time_of_the_array", text)


def _no_count(problem: str) -> Finding:
    """Return what the probe said of sequential_cycles."""
    if problem.startswith("sequential_cycles returns"):
        return found("sequential.no_whole_number", problem)
    return found("sequential.not_written", _not_written("sequential_cycles", problem))


def _not_written(function: str, problem: str) -> str:
    """Return that a function raises NotImplementedError, with its message if it has any."""
    told = f"{function} is not written yet"
    message = "" if problem == told else f'("{problem}")'
    return f"{told}: it raises NotImplementedError{message}."


def _assert_well_formed(outcome: Outcome, what: str) -> None:
    """Raise what the probe said about the form of the ofmap, the schedule, or the operands."""
    problems = {name: outcome[f"{name}_problem"][0] for name in _MALFORMED}
    problem = problems[what]
    if not problem:
        return
    if any(each != problem for each in problems.values()):
        raise WrongAnswer.of(_MALFORMED[what], problem)
    if problem.startswith("row_stationary returns"):
        raise WrongAnswer.of("dataflow.no_pair", problem)
    raise WrongAnswer.of("dataflow.not_written", _not_written("row_stationary", problem))


def _schedule(outcome: Outcome) -> list[Work]:
    """Return the operations in time order."""
    _assert_well_formed(outcome, "schedule")
    (schedule,), (values,) = outcome["schedule"], outcome["values"]
    return works(schedule, values)


def _most_of_a_schedule(case: Convolution, outcome: Outcome) -> list[Work]:
    """Return the operations in time order, if a third of what the array does is among them.

    Of its multiplies, adds and psums each: rules hold for what is not there, and for operations
    that have nothing to do with the array. Which element does them is asked elsewhere. Raises
    WrongAnswer, for far too many as well.
    """
    schedule = _schedule(outcome)
    expected = Counter(_purpose(key) for key in _sizes(outcome).all_keys())
    num_known = (expected & Counter(_purpose(work.key) for work in schedule)).total()
    num_done = Counter(work.op for work in schedule)
    # A multiply that its element repeats makes nothing new.
    products = Counter(_product(work) for work in schedule if min(work.kernel + work.ifmap) >= 0)
    num_done["multiply"] -= products.total() - len(products)
    num_expected = Counter(op for op, *_ in _sizes(outcome).all_keys())
    few = [op for op, number in num_expected.items() if 3 * num_done[op] < number]
    if 3 * num_known < expected.total() or few or len(schedule) > 2 * expected.total():
        names = {"multiply": "multiplies", "add": "adds", "psum": "psums"}
        of_kind = "".join(f" ({num_done[op]} of {num_expected[op]} {names[op]})" for op in few[:1])
        raise WrongAnswer.of(
            "schedule.wrong_size",
            f"The schedule has {len(schedule)} operations, including {num_known} of the "
            f"{expected.total()} that the array needs{of_kind}. The grader did not check it "
            "against the rules.",
            number=len(schedule),
            num_known=num_known,
            expected=expected.total(),
        )
    return schedule


def _sizes(outcome: Outcome) -> Sizes:
    return Sizes.of(outcome.inputs[0]["ifmap"], outcome.inputs[0]["kernel"])


def _purpose(key: Key) -> tuple[str, int, int]:
    """Return what an operation is for, whichever element does it: op, output column, tap."""
    op, _, out_col, tap = key
    return op, out_col, tap


def _product(work: Work) -> tuple[object, ...]:
    return work.pe, work.out_col, work.kernel, work.ifmap


def _formula(sizes: Sizes) -> str:
    return "(2S - 1)(f + 1)" if sizes.kernel_rows == 1 else "2S(f + 1) + R - 2"


def _known_time(schedule: list[Work], sizes: Sizes) -> Iterator[Finding]:
    """Yield the model that would give exactly this time, if it is a known one."""
    last = schedule[-1].cycle
    if len(schedule) != sizes.num_multiplies + sizes.num_adds:
        return
    if last == sizes.num_multiplies + sizes.num_adds:
        text = f"The schedule takes {last} cycles, one for each operation."
        helps = "the PEs must work in parallel"
        yield found("latency.one_operation_at_a_time", text, help=helps, cycles=last)
    elif last == sizes.taps * sizes.out_cols + sizes.kernel_rows:
        text = f"The schedule takes {last} cycles, as if each PE had a multiplier and an adder."
        yield found("latency.two_units", text, help="a PE has one arithmetic unit", cycles=last)

"""Calls of the student's dataflow and counts."""

import numpy as np

from .schedules import (
    NONE,
    MalformedError,
    matrix_of,
    pair_of,
    records_of,
    row_of,
    tables,
    whole_number,
)


def run_dataflow(student, comm, *, file, ifmap, kernel):
    """Call row_stationary; return the ofmap, and the schedule as numbers: one row an operation.

    Columns: cycle, pe_row, pe_col, op (0 multiply, 1 add, 2 psum), out_col, the two of kernel, the
    two of ifmap, tap, the two of psum_from; -1 where a field is not given. What does not have the
    form of the handout is reported in ofmap_problem, schedule_problem and operands_problem.
    """
    row_stationary = student.function(file, "row_stationary")
    ofmap, schedule, values = np.zeros((0, 0)), [], []
    problems = {"ofmap_problem": "", "schedule_problem": "", "operands_problem": ""}
    try:
        with student.phase():
            answer = row_stationary(ifmap, kernel)
    except NotImplementedError as error:
        if not _is_counting_written(student, file):
            raise
        # Reported in a result, because an exception would end the whole part.
        told = str(error)[:1000] or "row_stationary is not written yet"
        return {**tables(ofmap, [], []), **dict.fromkeys(problems, told)}
    try:
        ofmap_given, schedule_given = pair_of(answer)
    except MalformedError as problem:
        return {**tables(ofmap, [], []), **dict.fromkeys(problems, str(problem))}
    try:
        ofmap = matrix_of(ofmap_given)
    except MalformedError as problem:
        problems["ofmap_problem"] = str(problem)
    try:
        for number, record in enumerate(records_of(schedule_given)):
            row, value, missing = row_of(f"schedule[{number}]", record)
            schedule.append(row)
            values.append(value)
            problems["operands_problem"] = problems["operands_problem"] or missing[:1000]
    except MalformedError as problem:
        schedule, values = [], []
        problems["schedule_problem"] = str(problem)[:1000]
    return {**tables(ofmap, schedule, values), **problems}


def count_sequential_cycles(student, comm, *, file, shapes):
    """Call sequential_cycles once for every row (H, W, R, S) of shapes."""
    sequential_cycles = student.function(file, "sequential_cycles")
    numbers, problem = [], ""
    for height, width, num_rows, num_taps in shapes.tolist():
        number = NONE
        try:
            with student.phase():
                returned = sequential_cycles((height, width), (num_rows, num_taps))
            number = whole_number(returned, "sequential_cycles returns")
        # Reported in a result, because an exception would end the whole part.
        except (NotImplementedError, MalformedError) as error:
            problem = problem or str(error)[:1000] or "sequential_cycles is not written yet"
        numbers.append(number)
    return {"cycles": np.array(numbers, dtype=np.int64), "problem": problem}


def _is_counting_written(student, file):
    """Return whether the other function of the part is there."""
    try:
        with student.phase():
            student.function(file, "sequential_cycles")((3, 3), (2, 2))
    except Exception:
        return False
    return True

"""Calls of the student's formulas."""

import numpy as np

from grader.rank.toolbox import error_text


def closed_forms(student, comm, *, file, names, arguments):
    """Call each of the student's functions on each of its tuples of arguments.

    A function that raises is reported in its own `problem`; the others are called all the same.
    """
    module = student.module(file)
    results, raised = {}, []
    for name in names:
        try:
            with student.phase():
                function = student.function(file, name)
                values = [float(function(*each)) for each in arguments[name]]
            problem = ""
        except Exception as error:
            raised.append(error)
            values, problem = [np.nan] * len(arguments[name]), error_text(error, most_chars=400)
        results[name] = np.array(values)
        results[f"{name} problem"] = problem
    if len(raised) == len(names):
        raise raised[0]
    counts_server = bool(getattr(module, "N_COUNTS_THE_SERVER", True))
    return {**results, "counts_server": np.array([counts_server], dtype=np.int64)}

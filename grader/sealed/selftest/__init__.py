"""Checks the protections before a sealed grading, and tries what they must refuse.

`hostile_*.py` are sent to a rank, and import nothing of grader. Each function `try_*` yields steps,
(what is tried, how); a step that raises nothing has succeeded. The first line of its docstring is
the protection that stands when no step succeeds.
"""

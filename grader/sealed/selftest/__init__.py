"""Tries, before a sealed grading, what a submission must not be able to do.

`hostile_*.py` are the attempts: source that is sent to the ranks, which imports nothing of grader.
Each function `try_*` yields steps, (what is tried, how); a step that raises nothing has succeeded.
The first line of its docstring is the protection that stands when no step succeeds.
"""

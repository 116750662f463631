"""The line of code that a failure of a rank comes from."""

import re

from grader.api import RunFailure

_BEFORE_OUTPUT = re.compile(r"(?:\A|\n\n)last output of rank ")
_CODE = re.compile(r'^  File "[^"\n]*", line \d+.*\n    (.*)', re.MULTILINE)
_A_NAME = r"(?=\s*$|.*\b(?<!MPI\.)(?!(?:MPI|None|True|False|self|comm|op)\b)[A-Za-z_]\w*)"
ARGUMENTS = rf"\({_A_NAME}(?:[^(),]|\((?:[^()]|\([^()]*\))*\))*(?:,|$)"
"""Two arguments of a call at least, a name among them, or those that begin on the next line."""
_RAISES = re.compile(r"(?:^|[;:])\s*raise\b")


def failing_code(failure: RunFailure) -> str:
    """Return the innermost line of code that an error comes from, without a comment."""
    return [*calling_code(failure), ""][0]


def calling_code(failure: RunFailure) -> list[str]:
    """Return the lines of code that led to an error, the innermost first, without comments."""
    traceback = _BEFORE_OUTPUT.split(failure.detail)[0]
    return [line.partition("#")[0].strip() for line in reversed(_CODE.findall(traceback))]


def is_raised(failure: RunFailure) -> bool:
    """Return whether it is an error that the code raises itself, but not for what is left to do.

    Nothing follows from what was called before: anybody can send zeros, and raise an error then.
    """
    return bool(_RAISES.search(failing_code(failure)))

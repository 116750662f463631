"""What can go wrong with the grader itself or with how it was called, one class per exit code."""

EXIT_CODES = {
    0: "Full marks. With `--min-score N`, at least N points.",
    1: "Points were lost. With `--min-score N`, fewer than N points.",
    2: "The command is wrong, or the folder contains no file of any known assignment. Nothing was "
    "graded.",
    3: "The grader, Docker, or the image failed. There is no mark; this is never a zero.",
    4: "The submission needs review: the evidence is contradictory, or the grader failed in one "
    "check. This is never a zero.",
}
"""What the commands that grade end with; `make docs` writes docs/exit-codes.md from it."""


class GraderError(Exception):
    """The grader, its sandbox, Docker or its image failed: not the student (exit code 3).

    Its arguments are sentences, most often one; each is told in its own line.
    """

    exit_code = 3

    def __str__(self) -> str:
        return "\n".join(map(str, self.args))


class UsageError(GraderError):
    """The command line or the folder it names cannot be graded (exit code 2)."""

    exit_code = 2


class LaunchError(GraderError):
    """The machine failed to start the ranks: retried once, never charged to the student."""


class GradingLost(GraderError):
    """This grading cannot go on where it is; a fresh judge or container may go on with it."""


INTERRUPTED = "interrupted"
"""How the last sentence of a grading begins that was told to stop."""

"""What can go wrong with the grader itself or with how it was called, one class per exit code."""


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

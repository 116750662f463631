"""Remarks on lines of a submission, for the judge to report; they cost no points."""


class Remarks:
    """Kinds of remarks, what each is about, and the line: of each line one is enough."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, str, int], None] = {}

    def add(self, kind: str, about: str, file: str, line: int) -> None:
        """Keep a remark. kind: one of judge.explanation.slips; about: an imported module."""
        self._found[kind, about, file, line] = None

    def take_back(self, kind: str, about: str, file: str, line: int) -> None:
        """Forget a remark that is no longer true."""
        self._found.pop((kind, about, file, line), None)

    def listed(self, submission: str) -> list[tuple[str, str, str, int]]:
        """Return all of them; files are named by their paths below the submission."""
        return [
            (kind, about, file.removeprefix(f"{submission}/"), line)
            for kind, about, file, line in self._found
        ]

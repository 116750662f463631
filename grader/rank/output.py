"""What a rank prints: all that the submission says, nothing of the files given beside it."""

import io
import sys
from pathlib import Path


class SubmissionOutput(io.TextIOWrapper):
    """Standard output that drops what code in one folder prints by itself.

    A student who looks for the cause of a failure in the last lines wants none that others wrote.
    """

    def __init__(self, replaced: io.TextIOWrapper, dropped: Path) -> None:
        """replaced: takes no text afterwards. dropped: folder of the files that print nothing."""
        encoding, errors = replaced.encoding, replaced.errors
        super().__init__(replaced.detach(), encoding, errors, line_buffering=True)
        self._dropped = f"{dropped}/"

    def write(self, text: str) -> int:
        """Write a text, unless the code that asks for it lies in the folder."""
        if sys._getframe(1).f_code.co_filename.startswith(self._dropped):
            return len(text)
        return super().write(text)

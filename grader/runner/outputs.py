"""What ranks print in the case that runs now, as a student may read it."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from grader.model import RunFailure, Verdict
from grader.runner.rank_files import RankFiles

_MAX_TAIL_NUM_BYTES = 4000
_MAX_TAIL_LINES = 12
_OURS = ("submission", "support", "scratch")
"""Folders of a run in which a file goes by the name that the student knows."""


class Outputs:
    """What each rank of a run has printed since a case began."""

    def __init__(self, files: Sequence[RankFiles], folder: Path) -> None:
        """folder: of the run, whose path says nothing to a student."""
        self._files = files
        self._folder = folder
        self._starts = [0] * len(files)

    def begin_case(self) -> None:
        """Forget what was printed before: it belongs to other cases, such as a yardstick."""
        self._starts = [files.output_num_bytes() for files in self._files]

    def tail(self, rank: int) -> str:
        """Return the last lines that the rank has printed in this case."""
        end = self._files[rank].output_num_bytes()
        start = max(self._starts[rank], end - _MAX_TAIL_NUM_BYTES)
        text = os.pread(self._files[rank].output, max(0, end - start), start).decode(
            errors="replace"
        )
        lines = text.splitlines()
        if start > self._starts[rank]:
            del lines[:1]  # which has lost its beginning
        return self.without_our_paths("\n".join(lines[-_MAX_TAIL_LINES:]))

    def with_last_words(self, failure: RunFailure) -> RunFailure:
        """Return the failure with the last lines that each rank has printed in this case."""
        message, detail = map(self.without_our_paths, (failure.message, failure.detail))
        if failure.verdict is Verdict.NOT_ATTEMPTED:
            return replace(failure, message=message, detail=detail)
        tails = [(rank, self.tail(rank)) for rank in range(len(self._files))]
        said = [f"last output of rank {rank}:\n{tail}" for rank, tail in tails if tail]
        return replace(failure, message=message, detail="\n\n".join(filter(None, [detail, *said])))

    def without_our_paths(self, text: str) -> str:
        """Return a text in which files of the run go by the names that the student knows."""
        for name in _OURS:
            text = text.replace(f"{self._folder / name}/", "")
        return text.replace(str(self._folder), "...")

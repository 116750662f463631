"""What ranks print and say in the case that runs now, without paths of this machine."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.observe.run_control.rank_files import RankFiles

_MAX_TAIL_NUM_BYTES = 4000
_MAX_TAIL_LINES = 12
_MAX_DEPTH = 3
"""Of lists and objects within each other; our harness sends no deeper ones."""
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

    def without_our_paths(self, text: str) -> str:
        """Return a text in which files of the run go by the names that the student knows."""
        for name in _OURS:
            text = text.replace(f"{self._folder / name}/", "")
        return text.replace(str(self._folder), "...")

    def values_without_our_paths(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the same of all texts in what a rank has said; nothing of what lies too deep."""
        return {name: self._cleaned(value, _MAX_DEPTH) for name, value in values.items()}

    def _cleaned(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self.without_our_paths(value)
        if not isinstance(value, list | dict):
            return value
        if not depth:
            return None
        if isinstance(value, list):
            return [self._cleaned(each, depth - 1) for each in value]
        return {name: self._cleaned(each, depth - 1) for name, each in value.items()}

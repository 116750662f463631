"""The judge's side of the memory in which the interposer counts what gloo sends for one rank.

Apart from the records of calls: those are written by Python, whose objects a submission can reach.
This memory is mapped by the interposer only, and its descriptor is closed before any code of a
submission runs.
"""

import fcntl
import mmap
import os

from grader.model.errors import GraderError
from grader.trace.layout import GLOO_COUNTS_NUM_BYTES, GLOO_OPERATIONS
from grader.trace.sent_by_gloo import SentByGloo

_MESSAGE = GLOO_OPERATIONS.index("message")


class GlooCounts:
    """Shared memory of one rank, which nobody can shrink or grow."""

    def __init__(self) -> None:
        """Raises GraderError where the system has no sealed memory."""
        try:
            self.fd = os.memfd_create("gloo-counts", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            os.ftruncate(self.fd, GLOO_COUNTS_NUM_BYTES)
            seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
            fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, seals)
        except (AttributeError, OSError) as error:
            raise GraderError(
                f"cannot create sealed memory to count what gloo sends ({error}): this needs Linux"
            ) from None
        self._map = mmap.mmap(self.fd, GLOO_COUNTS_NUM_BYTES)
        self._words = memoryview(self._map).cast("Q")

    def sent(self) -> SentByGloo:
        """Return what has been sent so far."""
        words = self._words.tolist()
        return SentByGloo(words[_MESSAGE], sum(words) - words[_MESSAGE])

    def close(self) -> None:
        """Give the memory back."""
        self._words.release()
        self._map.close()
        os.close(self.fd)

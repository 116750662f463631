"""The judge's side of the memory in which the interposer notes what gloo sends for one rank.

Apart from the records of calls: those are written by Python, whose objects a submission can reach.
This memory is mapped by the interposer only, and its descriptor is closed before any code of a
submission runs.
"""

import fcntl
import mmap
import os

import numpy as np

from grader.model.errors import GraderError
from grader.trace.layout import GLOO_COUNTS, GLOO_OPERATIONS
from grader.trace.sent_by_gloo import GlooSamples, SentByGloo

_MESSAGE = GLOO_OPERATIONS.index("message")


class GlooCounts:
    """Shared memory of one rank, which nobody can shrink or grow."""

    def __init__(self) -> None:
        """Raises GraderError where the system has no sealed memory."""
        try:
            self.fd = os.memfd_create("gloo-counts", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            os.ftruncate(self.fd, GLOO_COUNTS.itemsize)
            seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
            fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, seals)
        except (AttributeError, OSError) as error:
            raise GraderError(
                f"counting gloo's messages needs sealed memory, which only Linux has ({error})"
            ) from None
        self._map = mmap.mmap(self.fd, GLOO_COUNTS.itemsize)

    def drop_samples(self) -> None:
        """Take samples only of what is sent from now on."""
        self._counts()["sampled_num_bytes"] = 0

    def sent(self) -> SentByGloo:
        """Return what has been sent so far."""
        counts = self._counts()
        nums_bytes = counts["num_bytes"].tolist()
        samples = {
            name: GlooSamples(num_bytes, counts["samples"][index].copy())
            for index, name in enumerate(GLOO_OPERATIONS)
            if (num_bytes := int(counts["sampled_num_bytes"][index]))
        }
        of_messages = nums_bytes[_MESSAGE]
        return SentByGloo(of_messages, sum(nums_bytes) - of_messages, samples)

    def close(self) -> None:
        """Give the memory back."""
        self._map.close()
        os.close(self.fd)

    def _counts(self) -> "np.ndarray[tuple[()], np.dtype[np.void]]":
        return np.ndarray((), GLOO_COUNTS, self._map)

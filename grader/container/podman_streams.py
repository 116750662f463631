"""The streams of a container of podman's, in the one format that sealed grading reads."""

import os
import select
import struct
import subprocess
from contextlib import suppress

from grader.errors import GraderError

_FRAME = struct.Struct(">BxxxL")
_STDOUT, _STDERR = 1, 2
_CHUNK_NUM_BYTES = 64 << 10
_LAST_WORD_S = 30.0
_GRACE_S = 1.0
_OF_PODMAN_ITSELF = (125, 126, 127)
_MAX_WORDS_NUM_BYTES = 4096


class PodmanStreams:
    """Standard input, output and error of `podman start`, as one connection like Docker's."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        """process: unbuffered, with pipes."""
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._stdin = process.stdin
        self._sources = {process.stdout.fileno(): _STDOUT, process.stderr.fileno(): _STDERR}
        self._unread = b""
        self._words = b""

    def sendall(self, data: bytes, /) -> None:
        """Send to standard input. Raises BrokenPipeError when nobody reads it any more."""
        unsent = memoryview(data)
        while unsent:
            unsent = unsent[os.write(self._stdin.fileno(), unsent[:_CHUNK_NUM_BYTES]) :]

    def recv(self, max_num_bytes: int, patience_s: float, /) -> bytes:
        """Return some output in Docker's format, nothing at its end.

        Raises TimeoutError when none comes in time.
        """
        while not self._unread and self._sources:
            ready, _, _ = select.select(list(self._sources), [], [], patience_s)
            if not ready:
                raise TimeoutError
            for descriptor in ready:
                data = os.read(descriptor, _CHUNK_NUM_BYTES)
                if not data:
                    del self._sources[descriptor]
                    continue
                stream = self._sources[descriptor]
                self._unread += _FRAME.pack(stream, len(data)) + data
                if stream == _STDERR:
                    self._words = (self._words + data)[-_MAX_WORDS_NUM_BYTES:]
        piece, self._unread = self._unread[:max_num_bytes], self._unread[max_num_bytes:]
        return piece

    def exit_code(self) -> int | None:
        """Return the container's exit code, once its output has ended.

        Raises GraderError when podman could not start it.
        """
        try:
            code = self._process.wait(_LAST_WORD_S)
        except subprocess.TimeoutExpired:
            return None
        lines = self._words.decode(errors="replace").strip().splitlines()
        if code in _OF_PODMAN_ITSELF and lines and lines[-1].startswith("Error: "):
            raise GraderError(f"podman refused: {lines[-1].removeprefix('Error: ')[:300]}")
        return code

    def close(self) -> None:
        """End its standard input, and podman's own process where it has not ended."""
        # The other two may be in use by another thread, which they end with the process.
        with suppress(OSError):
            self._stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE_S)
        self._process.kill()
        self._process.wait()

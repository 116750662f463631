"""The zygote's life in a container of its own: a judge in another one has it started, and ends it.

The first process of root that connects is the judge; nobody else is accepted after it. An order of
the judge is one line of JSON with `environment` and `modules`. Three descriptors come with it. They
become the standard streams of a zygote.
"""

import json
import os
import select
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .local_sockets import peer

_MAX_ORDER_NUM_BYTES = 1 << 20


def listen(folder: Path, command: Sequence[str]) -> None:
    """Start `command` with the modules of each order, until the judge or our own client leaves.

    folder: where the socket is made, which the judge's container sees as well.
    """
    connection = _judge(folder / "zygote.sock")
    zygote: subprocess.Popen[bytes] | None = None
    while connection is not None:
        order, streams = _order(connection)
        if zygote is not None:
            zygote.kill()
            zygote.wait()
        if order is None:
            return
        stdin, stdout, stderr = streams
        zygote = subprocess.Popen(  # noqa: S603 - our own program, and modules the judge names
            [*command, *order["modules"]],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=order["environment"],
            start_new_session=True,
        )
        for descriptor in streams:
            os.close(descriptor)


def _judge(path: Path) -> socket.socket | None:
    """Return the connection of the judge; None when standard input ends before it comes."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    listener.bind(str(path))
    os.umask(before)
    listener.listen(1)
    with listener:
        sources: list[Any] = [0, listener]
        while True:
            ready, _, _ = select.select(sources, [], [])
            if 0 in ready and not os.read(0, 4096):
                return None
            if listener in ready:
                connection, _ = listener.accept()
                if peer(connection)[1] == os.getuid():
                    return connection
                connection.close()


def _order(connection: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """Return the next order and its descriptors; None when the judge has gone."""
    line, descriptors = b"", list[int]()
    while not line.endswith(b"\n"):
        data, found, _, _ = socket.recv_fds(connection, _MAX_ORDER_NUM_BYTES, 3)
        descriptors += found
        if not data:
            return None, descriptors
        line += data
    return json.loads(line), descriptors

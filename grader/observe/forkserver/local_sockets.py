"""Sockets that processes of a run may connect to by a path; who connects is the kernel's word."""

import socket
import struct
from pathlib import Path

from .descriptors import refuse_descriptors

_PEER_CREDENTIALS = struct.Struct("3i")


def listening_at(path: Path, max_waiting: int, mode: int = 0o666) -> socket.socket:
    """Return a socket that all whom the mode of its file lets may connect to."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    path.chmod(mode)
    refuse_descriptors(listener)
    listener.listen(max_waiting)
    return listener


def peer(connection: socket.socket) -> tuple[int, int]:
    """Return pid and uid of the process at the other end, as the kernel knows them."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER_CREDENTIALS.size)
    pid, uid, _ = _PEER_CREDENTIALS.unpack(raw)
    return pid, uid

"""What mpirun starts in place of a rank: `python -I -S mpirun_placeholder.py SOCKET`.

Hands its environment to the forkserver, which forks the rank, and ends as the rank ends. Starts in
a few milliseconds, because it imports next to nothing.
"""

import _socket  # `socket` would import ten other modules
import posix  # as would `os`
import sys

connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
connection.connect(sys.argv[1])
entries = [name + b"=" + value for name, value in posix.environ.items()]
unsent = b"\0".join(entries)
while unsent:
    unsent = unsent[connection.send(unsent) :]
connection.shutdown(_socket.SHUT_WR)
said = b""
while received := connection.recv(64):
    said += received
status = int(said or b"1")
if status < 0:
    posix.kill(posix.getpid(), -status)
posix._exit(status)

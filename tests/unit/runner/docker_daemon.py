"""A Docker daemon without containers: enough of its API for one client, on a Unix socket."""

import json
import re
import socket
import socketserver
import struct
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

STDOUT, STDERR = 1, 2


class Streams:
    """What a container's process has for standard input, output and error."""

    def __init__(self, connection: socket.socket) -> None:
        self.stdin = connection.makefile("rb")
        self._connection = connection

    def write(self, stream: int, data: bytes) -> None:
        self._connection.sendall(struct.pack(">BxxxL", stream, len(data)) + data)

    def write_raw(self, data: bytes) -> None:
        self._connection.sendall(data)


class FakeDaemon:
    """Runs `process` as the one container; its return value is the exit code."""

    def __init__(self, folder: Path, process: Callable[[Streams], int]) -> None:
        self.url = f"unix://{folder / 'docker.sock'}"
        self.process = process
        self.images = {"grade"}
        self.created: dict[str, Any] = {}
        self.removed = threading.Event()
        self.started = threading.Event()
        self.ended = threading.Event()
        self.exit_code = 0
        self._server = _Server(str(folder / "docker.sock"), _Handler)
        self._server.daemon = self
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def run(self, connection: socket.socket) -> None:
        self.started.wait()
        self.exit_code = self.process(Streams(connection))
        self.ended.set()

    def close(self) -> None:
        self.started.set()
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    daemon: FakeDaemon

    def get_request(self) -> tuple[Any, Any]:
        return super().get_request()[0], ("client", 0)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print what goes wrong here, but a client may leave whenever it likes."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self, status: int, content: object) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        self._answer(200, {"ApiVersion": "1.41", "MinAPIVersion": "1.24"})

    def do_DELETE(self) -> None:
        self.server.daemon.removed.set()
        self._answer(204, None)

    def do_POST(self) -> None:
        daemon: FakeDaemon = self.server.daemon
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        action = re.sub(r"^/v[0-9.]+/containers/(c1/)?", "", self.path).split("?")[0]
        if action == "create":
            daemon.created = json.loads(body)
            if daemon.created["Image"] not in daemon.images:
                self._answer(404, {"message": f"No such image: {daemon.created['Image']}:latest"})
                return
            self._answer(201, {"Id": "c1", "Warnings": []})
        elif action == "attach":
            self.wfile.write(
                b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
            )
            daemon.run(self.connection)
            self.close_connection = True
        elif action == "start":
            daemon.started.set()
            self._answer(204, None)
        elif action == "wait":
            daemon.ended.wait()
            self._answer(200, {"StatusCode": daemon.exit_code})

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


class FakeContainer:
    """One that was created, and how far it has come."""

    def __init__(self, configuration: dict[str, Any]) -> None:
        self.configuration = configuration
        self.started = threading.Event()
        self.ended = threading.Event()
        self.exit_code = 0


class FakeDaemon:
    """Runs `process` as each container; what it returns is the exit code."""

    def __init__(self, folder: Path, process: Callable[[Streams], int]) -> None:
        self.url = f"unix://{folder / 'docker.sock'}"
        self.process = process
        self.images = {"grade": "one source"}
        """The digest of the sources that each was built from."""
        self.containers: dict[str, FakeContainer] = {}
        self.stale: list[dict[str, Any]] = []
        """What it lists."""
        self.removals: list[str] = []
        self.removed = threading.Event()
        self._server = _Server(str(folder / "docker.sock"), _Handler)
        self._server.daemon = self
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def created(self) -> dict[str, Any]:
        """Return the configuration of the newest container."""
        return list(self.containers.values())[-1].configuration

    @property
    def num_created(self) -> int:
        return len(self.containers)

    def run(self, container: FakeContainer, connection: socket.socket) -> None:
        container.started.wait()
        container.exit_code = self.process(Streams(connection))
        container.ended.set()

    def close(self) -> None:
        for container in self.containers.values():
            container.started.set()
            container.ended.set()
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
        daemon: FakeDaemon = self.server.daemon
        image = re.search(r"/images/(.*)/json", self.path)
        if "/containers/json" in self.path:
            self._answer(200, daemon.stale)
        elif image is None:
            self._answer(200, {"ApiVersion": "1.41", "MinAPIVersion": "1.24"})
        elif image[1] in daemon.images:
            labels = {"grader.engine-digest": daemon.images[image[1]]}
            self._answer(200, {"Id": f"sha256:{image[1]}", "Config": {"Labels": labels}})
        else:
            self._answer(404, {"message": f"No such image: {image[1]}:latest"})

    def do_DELETE(self) -> None:
        self.server.daemon.removals.append(self._container())
        self.server.daemon.removed.set()
        self._answer(204, None)

    def _container(self) -> str:
        found = re.search(r"/containers/(\w+)", self.path)
        return found[1] if found else ""

    def do_POST(self) -> None:
        daemon: FakeDaemon = self.server.daemon
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        name = self._container()
        if name == "create":
            configuration = json.loads(body)
            if configuration["Image"].removeprefix("sha256:") not in daemon.images:
                self._answer(404, {"message": f"No such image: {configuration['Image']}:latest"})
                return
            name = f"c{len(daemon.containers) + 1}"
            daemon.containers[name] = FakeContainer(configuration)
            self._answer(201, {"Id": name, "Warnings": []})
            return
        container = daemon.containers[name]
        action = self.path.split("?")[0].rpartition("/")[2]
        if action == "attach":
            self.wfile.write(
                b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
            )
            daemon.run(container, self.connection)
            self.close_connection = True
        elif action == "start":
            container.started.set()
            self._answer(204, None)
        elif action == "wait":
            container.ended.wait()
            self._answer(200, {"StatusCode": container.exit_code})

"""One file of container tests at a time: each has its own images and containers, and much work."""

import fcntl
import tempfile
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from red_team import images
from this_checkout import IMAGE, STUDENT_IMAGE, TAG

_LOCK = Path(tempfile.gettempdir()) / f"grader-container-tests-{TAG}"
_BESIDE = ("test_hostile", "test_hostile_archives")
"""These see nothing but the containers that they have started, as the machine of a course has
several at a time."""


@pytest.fixture(scope="module", autouse=True)
def alone(request: pytest.FixtureRequest) -> Iterator[None]:
    """Wait until no other worker runs container tests."""
    if request.module.__name__.rpartition(".")[2] in _BESIDE:
        yield
        return
    with _LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="module")
def engine() -> docker.DockerClient:
    """Return a client of the daemon that has the images of `make image`."""
    images.require(IMAGE, STUDENT_IMAGE)
    return docker.from_env()

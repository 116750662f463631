"""Whether there is a Docker daemon with the images of this checkout; in CI there has to be one."""

import functools
import os

import docker
import pytest
from docker.errors import DockerException
from this_checkout import IMAGE


@functools.cache
def why_not(*names: str) -> str:
    """Return why these images cannot be used here; empty when they can."""
    try:
        for name in names:
            docker.from_env().images.get(name)
    except DockerException as error:
        return f"no Docker, or `make image` has not been run: {error}"
    return ""


def require(*names: str) -> None:
    """Skip the test that asks where one of the images is missing; fail it where CI=true."""
    reason = why_not(*names or (IMAGE,))
    if reason and os.environ.get("CI") == "true":
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)

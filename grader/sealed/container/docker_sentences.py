"""One clear sentence, with the next step, for each way in which Docker can be missing."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import docker.errors
import requests.exceptions

from grader.model.errors import GraderError

_INSTEAD = "or grade here without it: `grade check DIR`"


@contextmanager
def clear_sentences(image: str = "") -> Iterator[None]:
    """Turn what the Docker SDK raises into GraderError with one sentence and the next step."""
    try:
        yield
    except docker.errors.ImageNotFound:
        raise GraderError(
            f"there is no image {image!r} here: build it with `make image`, or name another "
            "image with --image"
        ) from None
    except docker.errors.APIError as error:
        raise GraderError(f"Docker refused: {_one_line(error.explanation or error)}") from None
    except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
        raise GraderError(_why_unreachable(error)) from None


def _why_unreachable(error: BaseException) -> str:
    causes = list(_causes(error))
    if any(isinstance(cause, PermissionError) for cause in causes):
        return (
            "you may not use Docker on this machine: ask for the group `docker` and log in "
            f"again, {_INSTEAD}"
        )
    host = os.environ.get("DOCKER_HOST")
    if any(isinstance(cause, FileNotFoundError | ConnectionRefusedError) for cause in causes):
        if host:
            return (
                f"no Docker daemon answers at DOCKER_HOST={host}: correct or unset it, {_INSTEAD}"
            )
        if shutil.which("docker") is None:
            return f"Docker is not installed: install it, {_INSTEAD}"
        return (
            "Docker is installed but its daemon does not answer: start it (on most machines "
            f"`sudo systemctl start docker`), {_INSTEAD}"
        )
    return f"Docker does not answer: {_one_line(error)}; check DOCKER_HOST, {_INSTEAD}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all that it wraps, however the libraries in between did so."""
    waiting, seen = [error], set[int]()
    while waiting:
        cause = waiting.pop()
        if id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        wrapped = [cause.__cause__, cause.__context__, getattr(cause, "reason", None), *cause.args]
        waiting += [each for each in wrapped if isinstance(each, BaseException)]


def _one_line(text: object) -> str:
    return " ".join(str(text).split())[:300]

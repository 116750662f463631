"""Which container engine to use, by its name."""

from grader.container.engine import Engine
from grader.errors import UsageError

ENGINES = ("docker", "podman")


def connect(name: str) -> Engine:
    """Return the engine of that name.

    Raises UsageError for an unknown name, GraderError when the engine does not answer.
    """
    # Docker's client takes a quarter of a second to import, also for podman's flags.
    if name == "docker":
        from grader.container.docker_engine import DockerEngine

        return DockerEngine.connect()
    if name == "podman":
        from grader.container.podman_engine import PodmanEngine

        return PodmanEngine.connect()
    raise UsageError(f"there is no container engine {name!r}; name {' or '.join(ENGINES)}")

"""The packages that a class needs beside those that grade one submission."""

from importlib.util import find_spec

from grader.model.errors import UsageError

_PACKAGES = {"copydetect": "copydetect", "parsl": "parsl", "yaml": "pyyaml"}


def require() -> None:
    """Raise UsageError where one of them is not installed."""
    missing = [name for module, name in _PACKAGES.items() if find_spec(module) is None]
    if missing:
        raise UsageError(
            f"a class needs {', '.join(missing)}, which single submissions do not: pip install "
            "--require-hashes -r requirements-class.lock"
        )

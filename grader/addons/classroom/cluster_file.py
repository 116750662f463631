"""The small TOML file that says how a cluster is reached."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.model.errors import UsageError
from grader.model.spelling import did_you_mean

PROVIDERS = {
    "local": "LocalProvider",
    "slurm": "SlurmProvider",
    "pbs": "PBSProProvider",
    "torque": "TorqueProvider",
    "lsf": "LSFProvider",
    "gridengine": "GridEngineProvider",
    "condor": "CondorProvider",
}
"""Parsl's names for what submits to each kind of cluster."""
_KEYS = {"kind": str, "address": str, "provider": dict}


@dataclass(frozen=True)
class Cluster:
    """How a cluster is reached, and what a grading gets there."""

    file: Path
    kind: str
    cores: int
    """Physical ones, for each grading."""
    address: str
    """Of this machine, as the nodes know it; empty to let Parsl find out."""
    provider: Mapping[str, object]
    """Options of Parsl's provider."""

    @property
    def provider_name(self) -> str:
        """Return what Parsl calls the provider."""
        return PROVIDERS[self.kind]


def read(file: Path, cores: int) -> Cluster:
    """Return what the file says. Raises UsageError with the key that is wrong.

    cores: for each grading.
    """
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from None
    except ValueError as error:  # also of what is no UTF-8
        raise UsageError(f"{file} is not valid TOML: {error}") from None
    for key, value in data.items():
        if key not in _KEYS:
            raise UsageError(
                f"{file}: {key}: unknown key; {did_you_mean(key, _KEYS)}expected one of: "
                f"{', '.join(_KEYS)}"
            )
        if not isinstance(value, _KEYS[key]):
            raise UsageError(f"{file}: {key}: found {value!r:.40}; expected a {_noun(_KEYS[key])}")
    kind = data.get("kind", "")
    if kind not in PROVIDERS:
        raise UsageError(
            f"{file}: kind: found {kind!r:.40}; expected one of: {', '.join(PROVIDERS)}"
        )
    return Cluster(file, kind, cores, data.get("address", ""), data.get("provider", {}))


def _noun(kind: type) -> str:
    return "table" if kind is dict else "text"

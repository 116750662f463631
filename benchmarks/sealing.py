"""What sealing costs: the reference graded in the hardened container, with and without it.

    python benchmarks/sealing.py

Both in the same container of the same flags, in turn. Without: the ranks run as root like the
judge, with no filter of system calls, no supervisor, no selftest. Needs the image of `make image`.
"""

import json
import statistics
import time
from pathlib import Path
from typing import Any

import docker
import docker.types

from grader.container.hardening import hardening
from grader.container.plan import ContainerLimits

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "reference" / "mpi_sgd"
IMAGE = "grade"
TIMES = 5
BOUND = 1.15


def main() -> None:
    """Grade both ways in turn; print the times and the median of the ratios."""
    with_s, without_s = [], []
    for turn in range(TIMES):
        # A B, then B A: whatever drifts meets both alike.
        for sealed in (True, False) if turn % 2 == 0 else (False, True):
            (with_s if sealed else without_s).append(_grade(sealed))
    ratios = [sealed / bare for sealed, bare in zip(with_s, without_s, strict=True)]
    print(f"sealed:   {statistics.median(with_s):.1f} s (min {min(with_s):.1f})")
    print(f"unsealed: {statistics.median(without_s):.1f} s (min {min(without_s):.1f})")
    print(f"ratio:    {statistics.median(ratios):.3f} (bound {BOUND})")


def _grade(sealed: bool) -> float:
    """Return the seconds from start to end of a container that gives the reference full marks."""
    api = docker.from_env().api
    configuration: dict[str, Any] = {**hardening(ContainerLimits()), "auto_remove": False}
    del configuration["log_config"]  # what it prints is read after its end
    made = api.create_container(
        IMAGE,
        ["check", "/submission", "--json", "-"],
        environment={"GRADER_SEALED": "1" if sealed else "0"},
        host_config=api.create_host_config(
            **configuration,
            mounts=[docker.types.Mount("/submission", str(REFERENCE), type="bind", read_only=True)],
        ),
    )
    try:
        started_s = time.monotonic()
        api.start(made["Id"])
        code = api.wait(made["Id"])["StatusCode"]
        taken_s = time.monotonic() - started_s
        said = api.logs(made["Id"], stdout=True, stderr=False)
    finally:
        api.remove_container(made["Id"], force=True, v=True)
    assert code == 0, f"exit code {code}: {said[-2000:]!r}"
    mode = json.loads(said)["mode"]
    assert mode == ("container" if sealed else "local"), f"graded in the mode {mode!r}"
    return taken_s


if __name__ == "__main__":
    main()

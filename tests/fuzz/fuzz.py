"""Fuzzes every target for a while: `make fuzz`, or `python tests/fuzz/fuzz.py --seconds 600 NAME`.

Ends with 1 at the first crash, with the input saved and the command that repeats it.
"""

import argparse
import hashlib
import importlib.util
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from mutations import mutated
from targets import TARGETS, Target

_HERE = Path(__file__).resolve().parent
_CRASHES = _HERE / "crashes"
_RUNS_PER_ROUND = 2000


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 when only documented errors came out, 1 when a target crashed."""
    options = _parser().parse_args(arguments)
    if options.repeat:
        (name,) = options.targets
        TARGETS[name].check(options.repeat.read_bytes())
        print(f"{name}: only documented errors come out of {options.repeat}")
        return 0
    for name in options.targets or TARGETS:
        target = TARGETS[name]
        is_guided = target.is_guided and importlib.util.find_spec("atheris") is not None
        share_s = options.seconds / 2 if is_guided else options.seconds
        if not _random(target, share_s) or (is_guided and not _guided(target, share_s)):
            return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=float, default=60, help="for each target (default: 60)")
    parser.add_argument("--repeat", type=Path, metavar="FILE", help="run one saved input")
    return parser


def _random(target: Target, duration_s: float) -> bool:
    """Draw inputs until time is up; return whether only documented errors came out."""
    until_s = time.monotonic() + duration_s
    num_runs = 0
    first_seed = time.time_ns()
    while time.monotonic() < until_s:
        crash = find_crash(target, _RUNS_PER_ROUND, first_seed + num_runs)
        if crash is not None:
            _save(target, crash)
            return False
        num_runs += _RUNS_PER_ROUND
    print(f"{target.name}: {num_runs} inputs, only documented errors", flush=True)
    return True


def find_crash(target: Target, num_runs: int, first_seed: int) -> bytes | None:
    """Return the smallest input found that raises what is not documented; None if none does."""
    failing: list[bytes] = []

    @seed(first_seed)
    @settings(
        max_examples=num_runs,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    @given(mutated(target.seeds()))
    def check(data: bytes) -> None:
        try:
            target.check(data)
        except BaseException:
            failing.append(data)
            raise

    try:
        check()
    except Exception:
        return min(failing, key=len) if failing else None
    return None


def _guided(target: Target, duration_s: float) -> bool:
    """Let branches that no input has reached guide the search; return whether nothing crashed."""
    _CRASHES.mkdir(exist_ok=True)
    command = [
        *(sys.executable, str(_HERE / "guided.py"), target.name),
        f"-max_total_time={max(1, round(duration_s))}",
        f"-artifact_prefix={_CRASHES}/{target.name}-",
        "-print_final_stats=1",
    ]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode == 0:
        counted = [
            line.split()[-1]
            for line in done.stderr.splitlines()
            if line.startswith("stat::number_of_executed_units")
        ]
        print(f"{target.name}: {''.join(counted)} inputs, guided by coverage", flush=True)
        return True
    print(done.stdout[-4000:], done.stderr[-4000:])
    found = sorted(_CRASHES.glob(f"{target.name}-*"), key=lambda path: path.stat().st_mtime)
    _say_how_to_repeat(target, found[-1] if found else None)
    return False


def _save(target: Target, data: bytes) -> None:
    _CRASHES.mkdir(exist_ok=True)
    file = _CRASHES / f"{target.name}-{hashlib.sha256(data).hexdigest()[:12]}"
    file.write_bytes(data)
    try:
        target.check(data)
    except BaseException:
        traceback.print_exc()
    _say_how_to_repeat(target, file)


def _say_how_to_repeat(target: Target, file: Path | None) -> None:
    if file is None:
        print(f"{target.name}: the search ended without an input that repeats it")
        return
    print(f"{target.name}: crashed; repeat with")
    print(f"  {sys.executable} tests/fuzz/fuzz.py {target.name} --repeat {file}", flush=True)


if __name__ == "__main__":
    sys.exit(main())

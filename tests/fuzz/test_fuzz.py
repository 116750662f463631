"""A short run of every target, so that none of them rots; `make fuzz` runs them for long."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import fuzz
import pytest
from targets import TARGETS, Target

_NUM_RUNS = 300


@pytest.mark.parametrize("name", TARGETS)
def test_only_documented_errors_come_out(name):
    """Of valid inputs, of damaged ones, and of any bytes."""
    target = TARGETS[name]
    for seed in target.seeds():
        target.check(seed)
    crash = fuzz.find_crash(target, _NUM_RUNS, first_seed=int(os.environ.get("FUZZ_SEED", "1")))
    assert crash is None, f"{name} crashes on {crash!r}"


@pytest.mark.parametrize("name", [name for name in TARGETS if TARGETS[name].documented])
def test_valid_inputs_get_through(name):
    """A target whose every input is refused would find nothing."""
    target, accepted = TARGETS[name], 0
    for seed in target.seeds():
        try:
            target.take(seed)
            accepted += 1
        except target.documented:
            continue
    assert accepted > 0


def _crashing(data: bytes) -> None:
    if data.startswith(b"\xff"):
        raise KeyError("not documented")
    raise ValueError("documented")


CRASHING = Target("crashing", _crashing, (ValueError,), lambda: [b"\xffseed"])


def test_a_crash_is_found_saved_and_told_how_to_repeat(tmp_path, monkeypatch, capsys):
    """The run ends with 1, and the saved input crashes again."""
    monkeypatch.setitem(TARGETS, "crashing", CRASHING)
    monkeypatch.setattr(fuzz, "_CRASHES", tmp_path)
    assert fuzz.main(["--seconds", "5", "crashing"]) == 1
    (saved,) = tmp_path.iterdir()
    assert f"tests/fuzz/fuzz.py crashing --repeat {saved}" in capsys.readouterr().out
    with pytest.raises(KeyError, match="not documented"):
        fuzz.main(["crashing", "--repeat", str(saved)])


@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="no atheris for this one")
@pytest.mark.parametrize("name", [name for name in TARGETS if TARGETS[name].is_guided])
def test_guided_runs_work(name):
    """Each of them reaches its parser and ends by itself."""
    # The kernel counts the peak of this process, which may hold gigabytes, as that of its child.
    options = ["-runs=500", "-rss_limit_mb=0"]
    command = [sys.executable, str(Path(fuzz.__file__).with_name("guided.py")), name, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "INFO: Instrumenting grader." in done.stderr

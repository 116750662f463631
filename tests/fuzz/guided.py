"""Fuzzes a target, guided by the branches it reaches: `guided.py TARGET [LIBFUZZER OPTION...]`."""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(
    include=[
        "grader.observe.run_control.rank_messages",
        "grader.observe.interposer.memory",
        "grader.observe.interposer.records",
    ]
):
    from targets import TARGETS


def main() -> None:
    """Run until the options of libFuzzer say to stop, or an error that is not documented."""
    name, *options = sys.argv[1:]
    target = TARGETS[name]
    with tempfile.TemporaryDirectory() as folder:
        for number, seed in enumerate(target.seeds()):
            Path(folder, str(number)).write_bytes(seed)
        command = [sys.argv[0], "-max_len=8192", "-verbosity=0", *options, folder]
        atheris.Setup(command, target.check)
        atheris.Fuzz()


if __name__ == "__main__":
    main()

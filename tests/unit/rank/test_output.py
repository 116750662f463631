"""What a rank prints: the submission's words, not those of the files given beside it."""

import io
import sys
from pathlib import Path

from grader.rank.harness import SubmissionOutput

PRINTS = "def say(text):\n    print(text)\n"


def said_by(file: Path, output: SubmissionOutput) -> None:
    """Let code of that file print."""
    names: dict = {}
    exec(compile(PRINTS, str(file), "exec"), names)
    before, sys.stdout = sys.stdout, output
    try:
        names["say"](f"from {file.name}")
    finally:
        sys.stdout = before


def test_prints_of_given_files_are_dropped_and_all_others_kept(tmp_path):
    """Also those of a file of the same name that was handed in."""
    kept = io.BytesIO()
    output = SubmissionOutput(io.TextIOWrapper(kept, "utf-8", "strict"), tmp_path / "support")
    said_by(tmp_path / "support" / "network.py", output)
    said_by(tmp_path / "submission" / "network.py", output)
    said_by(tmp_path / "support.py", output)
    assert kept.getvalue() == b"from network.py\nfrom support.py\n"


def test_each_line_can_be_read_at_once_in_the_encoding_of_before(tmp_path):
    """Whoever looks on while a rank hangs sees what it printed last."""
    kept = io.BytesIO()
    replaced = io.TextIOWrapper(kept, "latin-1", "backslashreplace")
    output = SubmissionOutput(replaced, tmp_path)
    print("é \u20ac", file=output)
    assert kept.getvalue() == b"\xe9 \\u20ac\n"

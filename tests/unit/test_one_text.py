"""What Python runs of a hand-in is what a person reads, or the file is not read."""

import ast
import re
from pathlib import Path

import pytest

from grader.intake import notebook
from grader.intake import submission as submissions

HOSTILE = Path(__file__).parents[1] / "hostile"
FILE = "my_naive_allreduce.py"


def seen(text: str) -> str:
    """Return what a screen makes of it: it shows no feeds, and turns round what U+2067 begins."""
    return re.sub('\u2067(""")(.*)', r"\2\1", re.sub("[\f\r]", "", text))


def calls(source: bytes | str) -> set[str]:
    """Return the methods that the first function calls in any case."""
    (function, *_) = ast.parse(source).body
    values = [each.value for each in function.body if isinstance(each, ast.Expr)]
    return {each.func.attr for each in values if isinstance(each, ast.Call)}


@pytest.mark.parametrize(
    ("attack", "is_read"),
    [
        ("code_in_another_coding", False),
        ("code_in_another_coding_in_a_cell", False),
        ("line_behind_a_carriage_return", True),
        ("out_of_a_dead_branch_by_a_form_feed", True),
        ("call_that_looks_like_a_docstring", True),
    ],
)
def test_a_call_that_a_screen_does_not_show_is_shown_or_not_run(attack, is_read):
    """The attacks hide it from a reader of the file, and not from Python."""
    (file,) = (HOSTILE / attack).glob("a*.ipynb") if "cell" in attack else [HOSTILE / attack / FILE]
    content = file.read_bytes()
    if "cell" in attack:
        content = notebook.read(content).files[FILE]
    assert (calls(content), calls(seen(content.decode()))) == ({"Allreduce"}, set())
    found = submissions.read(HOSTILE / attack, [FILE])
    read = {path: text for path, text in found.files.items() if path.endswith(FILE)}
    if is_read:
        assert calls(read[FILE]) == calls(seen(read[FILE].decode())) == {"Allreduce"}
    else:
        ((_, why),) = ((path, why) for path, why in found.not_read.items() if FILE in path)
        assert not read and re.match(
            r"declares the unsupported encoding (utf-7|unicode_escape) on line 1; save", why
        )

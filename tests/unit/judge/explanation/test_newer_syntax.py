"""Lines of a newer Python are known by what an older one says of them."""

import sys

import pytest

from grader.judge.explanation.newer_syntax import newer_syntax

pytestmark = pytest.mark.skipif(sys.version_info >= (3, 12), reason="it reads these lines")

QUOTES = "quotes of the same kind inside an f-string"
TYPES = "type parameters in brackets"
EXCEPTIONS = "several exceptions without parentheses"


def message_of(source: str) -> tuple[str, str]:
    """Return what Python 3.11 says of a source, and the line that it shows."""
    with pytest.raises(SyntaxError) as caught:
        compile(source, "it.py", "exec")
    return caught.value.msg, caught.value.text or ""


@pytest.mark.parametrize(
    ("source", "what", "since"),
    [
        ('x = f"{d["a"]} of {n}"', QUOTES, (3, 12)),
        ("x = f'{d['a']}'", QUOTES, (3, 12)),
        ('x = f"sum {", ".join(names)}"', QUOTES, (3, 12)),
        ('x = rf"{a} {f"{b}"}"', QUOTES, (3, 12)),
        ('print(\n  f"{n} {d["a"]:>4}",\n)', QUOTES, (3, 12)),
        ("x = f\"{'\\n'.join(a)}\"", "a backslash inside the braces of an f-string", (3, 12)),
        ('x = f"""{a # one\n}"""', "a comment inside the braces of an f-string", (3, 12)),
        ("type Row = list[int]", "a `type` statement", (3, 12)),
        ("type Row[T] = list[T]", "a `type` statement", (3, 12)),
        ("def first[T](rows: list[T]) -> T:\n    return rows[0]", TYPES, (3, 12)),
        ("class Box[T](Base):\n    pass", TYPES, (3, 12)),
        ("try:\n    pass\nexcept ValueError, np.LinAlgError:\n    pass", EXCEPTIONS, (3, 14)),
        ('x = t"{a}"', "a t-string", (3, 14)),
    ],
)
def test_a_line_of_a_newer_python_is_known(source, what, since):
    """With the version that reads it, and no longer where that version runs."""
    message, line = message_of(source)
    sign = newer_syntax(message, line, (3, 11))
    assert sign is not None and (sign.what, sign.since) == (what, since)
    assert newer_syntax(message, line, since) is None


@pytest.mark.parametrize(
    "source",
    [
        "def go(comm)\n    pass",
        'print "a"',
        'x = f"{a"',
        'print(f"{a", b, "{c}")',
        'x = f"{a b}"',
        'x = f"{{" + "}" 1',
        'x = f"{a}" + f"{b}" c',
        'x = "a"b"',
        "x = {'t': 1 '{b}'}",
        "try:\n    pass\nexcept ValueError, error:\n    pass",
    ],
)
def test_what_no_python_reads_has_no_sign(source):
    """Not even a brace too few, nor what Python 2 has read."""
    assert newer_syntax(*message_of(source), (3, 11)) is None


@pytest.mark.parametrize("piece", ['f"{[', 'f"{"', "except a,", "t'{", 'f"{ " "', "type a["])
def test_a_hostile_line_is_looked_at_quickly(piece):
    """As long as a rank can send one."""
    newer_syntax("", (piece * 600)[:600], (3, 11))

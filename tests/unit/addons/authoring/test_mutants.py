"""Mutants of a reference: one change each, in what students write, and all that can be compiled."""

import textwrap

import pytest

from grader.addons.authoring.verification.mutation import mutants

HEAD = "import numpy as np\nGIVEN = 3 + 4\ndef work(comm, a, b):\n    # solution: the work\n"
TAIL = "    # end of solution\n    return a + b\n"


def changes(body: str) -> set[tuple[str, str, str]]:
    source = HEAD + textwrap.indent(f"{body}\n", "    ") + TAIL
    found = mutants(source, "work.py")
    assert len({each.source for each in found}) == len(found)
    for each in found:
        compile(each.source, "work.py", "exec")
        assert each.source != source
        assert "GIVEN = 3 + 4" in each.source and "return a + b" in each.source
    return {(each.operator, each.before, each.after) for each in found}


@pytest.mark.parametrize(
    ("line", "change"),
    [
        ("a = a + b", ("operator", "+", "-")),
        ("a += b", ("operator", "+", "-")),
        ("a = (a - b) % (b)", ("operator", "%", "+")),
        ("a = a < b", ("operator", "<", "<=")),
        ("a = a and b", ("operator", "and", "or")),
        ("a = -b", ("operator", "-b", "b")),
        ("a = b[1]", ("bound", "1", "2")),
        ("a = b[0]", ("bound", "0", "(-1)")),
        ("a = True", ("constant", "True", "False")),
        ("a = np.float64(b)", ("dtype", "np.float64", "np.float32")),
        ("comm.Send(a, dest=b)", ("peer", "b", "0")),
        ("comm.Send(a, tag=b)", ("tag", "b", "(b) + 1")),
        ("comm.Wait()", ("statement removed", "comm.Wait()", "pass")),
        ("a = np.max(b)", ("call removed", "np.max(b)", "b")),
        ("comm.Send(a, b)", ("arguments swapped", "a, b", "b, a")),
        ("if a: b = 1", ("condition negated", "a", "not (a)")),
        ("for c in a: b += c", ("block removed", "for c in a: b += c", "pass")),
        ("a = b\nb = a", ("statements swapped", "a = b b = a", "b = a a = b")),
        ("return a", ("nothing returned", "return a", "return None")),
    ],
)
def test_each_kind_of_change_is_made(line, change):
    """Named with what stood there before and what stands there now."""
    assert change in changes(line)


def test_what_is_given_to_students_is_left_alone():
    """A mistake there is none of theirs."""
    source = HEAD + "    pass\n" + TAIL
    assert mutants(source, "work.py") == []
    assert mutants("a = 1 + 2\n", "given.py") == []


def test_lines_are_those_of_the_reference_and_characters_are_no_bytes():
    """Also behind a line with letters of several bytes."""
    source = HEAD + '    a = "größer ≥ kleiner"; b = a + 1\n' + TAIL
    (plus,) = (each for each in mutants(source, "work.py") if each.operator == "operator")
    assert plus.line == 5
    assert '"größer ≥ kleiner"; b = a - 1' in plus.source

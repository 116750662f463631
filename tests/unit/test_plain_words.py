"""The lint of sentences finds what it should, and nothing in good sentences."""

from textwrap import indent

import pytest

from tests import plain_words

MANY = " ".join(["word"] * 26)


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        ("each is to have its part", "duty is `must`"),
        ("it has to work on one process", "duty is `must`"),
        ("rank 0 is right", "results are `correct`; only people are right"),
        ("a part of its own", "`own` goes before its noun"),
        ("rank 2 is wrong as well", "no trailing concession"),
        ("one process trains, too", "no trailing concession"),
        ("a person should look", "name the actor"),
        ("a receive that nobody posts", "name the actor"),
        ("for who called may go on", "name the actor"),
        (MANY, "at most 25 words and one semicolon"),
        ("one; two; three", "at most 25 words and one semicolon"),
    ],
)
def test_a_sentence_that_breaks_a_rule_is_named(sentence, rule):
    assert [broken for broken, _ in plain_words.broken_rules(sentence)] == [rule]


@pytest.mark.parametrize(
    "sentence",
    [
        "each rank must have its own part",
        "send to the right neighbour",
        "on 3 and 5 as well as on 4",
        "a student who hands in late",
        "the array is too long",
        f"Short one. {MANY[:100]}",
    ],
)
def test_a_plain_sentence_is_left_alone(sentence):
    assert list(plain_words.broken_rules(sentence)) == []


def test_every_kind_of_text_is_read(tmp_path):
    """Strings and f-strings of modules, titles, TOML and handouts; no docstrings and no code."""
    suite, reference = tmp_path / "tests" / "suites" / "one", tmp_path / "reference" / "one"
    for folder in (suite, reference, tmp_path / "grader"):
        folder.mkdir(parents=True)
    bad = "that nobody has seen"
    (tmp_path / "grader" / "a.py").write_text(f'"""Says {bad}."""\nX = f"{{1}} {bad}"\n')
    test = f'def test_it():\n    """A title {bad}."""\n'
    (suite / "test_one.py").write_text(test)
    (suite / "shared_tests.py").write_text(f"def shared_tests():\n{indent(test, '    ')}")
    (suite / "assignment.toml").write_text(f'title = "one {bad}"\n')
    (reference / "HANDOUT.md").write_text(f"One {bad}.\n\n    one {bad}\n")
    found = [(rule, where.split(":")[0]) for rule, where in plain_words.complaints(tmp_path)]
    assert found == [
        ("name the actor", "grader/a.py"),
        ("name the actor", "tests/suites/one/assignment.toml"),
        ("name the actor", "reference/one/HANDOUT.md"),
        ("name the actor", "tests/suites/one/test_one.py"),
        (plain_words.TITLE, "tests/suites/one/test_one.py"),
        ("name the actor", "tests/suites/one/shared_tests.py"),
        (plain_words.TITLE, "tests/suites/one/shared_tests.py"),
    ]

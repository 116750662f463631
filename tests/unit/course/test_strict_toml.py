"""A TOML file is read whole, or what is wrong with it is told: all of it, with key paths."""

from typing import Annotated

import pytest
from msgspec import Meta, Struct, field

from grader.course import strict_toml
from grader.model.errors import GraderError

Number = Annotated[int, Meta(ge=0, description="a whole number from 0")]
Word = Annotated[str, Meta(pattern=r"\A[a-z]+\Z", description="a word")]
Words = Annotated[tuple[Word, ...], Meta(min_length=1, description="a list of words")]


class Item(Struct, frozen=True, forbid_unknown_fields=True):
    name: Word
    counts: Annotated[dict[Word, Number], Meta(description="a table of numbers")] = {}


class Top(Struct, frozen=True, forbid_unknown_fields=True):
    words: Words
    ours: Word | None = field(name="theirs", default=None)
    items: Annotated[tuple[Item, ...], Meta(description="tables [[items]]")] = ()


@pytest.fixture
def read(tmp_path):
    """Return what reads a text, or bytes, as a Top."""

    def read(content, cross_check=lambda data: ()):
        file = tmp_path / "it.toml"
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return strict_toml.read(file, Top, cross_check)

    return read


def mistakes(read, content, **options) -> list[str]:
    """Return what is told, without the name of the file that each line must begin with."""
    with pytest.raises(GraderError) as error:
        read(content, **options)
    lines = [str(each).partition("it.toml: ") for each in error.value.args]
    assert all(name == "it.toml: " for _, name, _ in lines)
    assert str(error.value).count("\n") == len(lines) - 1
    return [text for _, _, text in lines]


def test_a_right_file_is_its_structs(read):
    """Lists are tuples, and what is left out has its default."""
    found = read('words = ["a"]\ntheirs = "b"\n[[items]]\nname = "i"\ncounts = { x = 1 }\n')
    assert found == Top(("a",), "b", (Item("i", {"x": 1}),))
    assert read('words = ["a"]') == Top(("a",))


def test_all_mistakes_are_told_at_once_with_their_paths(read):
    """Tables go by a name of their own, else by position; what was meant is asked."""
    text = """
        word = ["a"]
        theirs = 3
        [[items]]
        name = "x"
        counts = { y = -1, "no word" = 1 }
        [[items]]
        name = "twice"
        count = {}
        [[items]]
        name = "twice"
        counts = 3
        [[items]]
    """
    assert mistakes(read, text) == [
        "word: unknown key; expected one of: items, theirs, words. Did you mean words?",
        "theirs: found 3; expected a word",
        "items.x.counts.y: found -1; expected a whole number from 0",
        'items.x.counts."no word": found "no word"; expected a word',
        "items[1].count: unknown key; expected one of: counts, name. Did you mean counts?",
        "items[2].counts: found 3; expected a table of numbers",
        "items[3].name: missing; expected a word",
        "words: missing; expected a list of words",
    ]


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("words = []", "words: found an empty list; expected a list of words"),
        ("words = {}", "words: found an empty table; expected a list of words"),
        ('words = "a"', 'words: found "a"; expected a list of words'),
        ('words = ["a", "b", "a"]', 'words: found "a" 2 times; expected each item once'),
        ('words = ["a", true]', "words[1]: found true; expected a word"),
        ('words = ["a", [["b"]]]', "words[1]: found a list; expected a word"),
        (
            "words = 0x" + "f" * 4000,
            "words: found a number with too many digits; expected a list of words",
        ),
        ("words = [1979-05-27]", "words[0]: found 1979-05-27; expected a word"),
        ('words = ["\\u001b"]', r'words[0]: found "\u001b"; expected a word'),
        ('words = ["a"]\nitems = [3]', "items[0]: found 3; expected a table"),
        (
            f'words = ["{"A" * 1000}"]',
            f'words[0]: found "{"A" * 59}...; expected a word',
        ),
    ],
)
def test_what_was_found_is_told_as_toml_writes_it(read, text, mistake):
    """Briefly, and never as Python writes it."""
    assert mistakes(read, text) == [mistake]


def test_what_values_must_agree_on_is_told_with_the_rest(read):
    """A value that is wrong by itself is None there, a table that is none is empty."""
    given = []

    def cross_check(data):
        given.append(data)
        return ["words: found a; expected b"]

    text = 'words = ["a", 3]\ntheirs = 3\nother = 1\nitems = [3, { name = "x" }]'
    told = mistakes(read, text, cross_check=cross_check)
    assert given == [{"words": ["a"], "theirs": None, "items": [{}, {"name": "x"}]}]
    assert told[-1] == "words: found a; expected b"
    assert len(told) == 5
    assert mistakes(read, 'words = ["a"]', cross_check=cross_check) == told[-1:]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            "x = 1\ny 2\n",
            "is not valid TOML: Expected '=' after a key in a key/value pair (at line 2, ",
        ),
        ("[a]\n[a]\n", "is not valid TOML: Cannot declare ('a',) twice (at line 2, column "),
        (b"x = 1\n# \x82", "expected UTF-8 text; found the byte 0x82 on line 2"),
        ("x = " + "[" * 4000, "lists or tables are nested too deeply"),
        ("x = " + "{a=" * 1300, "lists or tables are nested too deeply"),
        ("x = 1e99999999999999999999", "a number's exponent is too large"),
        ("a" + ".a" * 2047, "is not valid TOML: Expected '='"),
        (
            "\na" + ".a" * 30000 + " = 1",
            "line 2 is 60005 bytes long; expected at most 4096: split",
        ),
        ("#\n" * 40000, "is larger than 65536 bytes"),
    ],
)
def test_what_is_not_toml_is_told_in_a_sentence(read, content, sentence):
    """With line and column where there are any; nothing takes long, or much memory."""
    (told,) = mistakes(read, content)
    assert told.startswith(sentence)


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    """A folder in its place, for one."""
    with pytest.raises(GraderError, match=r"cannot be read: Is a directory$"):
        strict_toml.read(tmp_path, Top, lambda data: ())

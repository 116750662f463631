"""Whichever way an editor has saved a script, its text is the same; what is unclear is refused."""

import ast
import codecs
import io
import re
import tokenize
import warnings

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grader.intake.archives.source_text import SourceText, read

TEXT = "# Übung von Zoë\nx = 'é'\n"
UTF_16 = "was converted from UTF-16, which Python does not read; save it as UTF-8"
CP1252 = "was converted from cp1252 (Windows), because line 1 is not UTF-8; save it as UTF-8"


@pytest.mark.parametrize(
    ("content", "remark"),
    [
        (TEXT.encode(), ""),
        (codecs.BOM_UTF8 + TEXT.encode(), ""),
        (codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), UTF_16),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), UTF_16),
        (TEXT.encode("cp1252"), CP1252),
        (b"", ""),
    ],
)
def test_the_text_is_the_same_however_it_was_saved(content, remark):
    """With a mark or without; what Python itself would not read has a remark."""
    assert read(content) == SourceText(TEXT.encode() if content else b"", remark)


@pytest.mark.parametrize("first", ["", "#!/usr/bin/python\n", " \f\n", "\r"])
@pytest.mark.parametrize("ending", ["", "-unix"])
@pytest.mark.parametrize("name", ["latin-1", "Latin_1", "iso-8859-1", "iso-latin-1"])
def test_a_coding_line_of_latin_1_is_honoured(first, name, ending):
    """And says UTF-8 afterwards, without moving a line or a column of the code."""
    source = f"{first}# vim: set fileencoding={name}{ending} :\nx = '\xe9\xff'\n"
    honest = source.replace(f"{name}{ending}", "utf-8".ljust(len(name + ending)))
    shown = honest.replace(" \f", "").replace("\r", "\n")
    assert read(source.encode("latin-1")) == SourceText(shown.encode())


@pytest.mark.parametrize("name", ["cp1252", "windows-1252", "CP1252", "1252"])
def test_a_coding_line_of_cp1252_is_honoured(name):
    """A euro sign is none in latin-1."""
    found = read(f"# coding: {name}\nx = '€'\n".encode("cp1252"))
    assert found.content.splitlines()[1] == "x = '€'".encode()
    assert (found.remark, found.problem) == ("", "")


@pytest.mark.parametrize("name", ["utf-8", "UTF-8", "utf8", "utf_8", "utf-8-sig", "utf-8-unix"])
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
def test_each_spelling_of_utf_8_is_utf_8(name, mark):
    """Nothing in the file changes, and Python reads it."""
    source = f"# -*- coding: {name} -*-\nx = 'é'\n".encode()
    assert read(mark + source) == SourceText(source)
    compile(source, "it.py", "exec")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        *(
            (
                f"#\n# coding: {name}\n".encode(),
                f"declares the unsupported encoding {name} on line 2; ",
            )
            for name in ("utf-7", "rot13", "unicode_escape", "punycode", "iso-8859-15", "utf-16")
        ),
        (b"x = 1\n\n\0", "has a NUL byte on line 3, which Python does not allow; "),
        ("x = 1\n\0".encode("utf-16"), "has a NUL byte on line 2, which Python does not allow; "),
        (bytes(8), "has a NUL byte on line 1, which Python does not allow; "),
        (b"\xff\xfex", "is not valid UTF-16 (byte 2); "),
        (b"\r\n\r\x81", "has the byte 0x81 on line 3, which is neither UTF-8 nor cp1252; "),
        (b"# coding: utf-8\n\xe9", "declares UTF-8, but byte 0xe9 on line 2 is not valid "),
        (codecs.BOM_UTF8 + b"\xe9", "declares UTF-8, but byte 0xe9 on line 1 is not valid "),
        (b"# coding: cp1252\n\x81", "declares cp1252, but byte 0x81 on line 2 is not valid "),
    ],
)
def test_what_is_unclear_is_refused_in_one_clause(content, problem):
    """It says what and where, and what to do."""
    found = read(content)
    assert found.content == b"" and found.problem.startswith(problem)
    assert found.problem.split("; ")[1].startswith("save it as UTF-8")
    is_declared = "declares the unsupported encoding" in problem
    assert found.problem.endswith("without that line") == is_declared


def test_a_mark_counts_more_than_a_coding_line():
    """Python refuses the two together; the mark is what an editor has written by itself."""
    source = "# coding: latin-1\nx = 'é'\n"
    honest = source.replace("latin-1", "utf-8  ").encode()
    remark = "was read as UTF-8 because of its first bytes; "
    remark += "remove the declaration of latin-1 on line 1"
    assert read(codecs.BOM_UTF8 + source.encode()) == SourceText(honest, remark)
    assert read(source.encode("utf-16")) == SourceText(honest, UTF_16)


@given(st.text(st.characters(codec="cp1252", exclude_categories=["Cc"]), max_size=200))
@example("é\r\n# coding: latin-1")
def test_what_cp1252_can_hold_comes_back(text):
    """As long as it is no UTF-8 by chance, and no coding line says otherwise."""
    packed = text.encode("cp1252")
    try:
        packed.decode()
    except UnicodeDecodeError:
        if b"coding" not in packed:
            assert read(packed).content.decode() == text


@given(
    st.lists(
        st.sampled_from(
            [b"#", b" ", b"\f", b"\n", b"\r\n", b"x", b"coding", b":", b"=", b"latin-1", b"utf-7"]
        ),
        max_size=14,
    ).map(b"".join)
)
def test_coding_lines_are_found_where_python_finds_them(source):
    """In line 1 or 2, by the regular expression of PEP 263."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    except SyntaxError:
        encoding = "another"
    found = read(source)
    if encoding in ("another", "utf-7"):
        assert "declares the unsupported encoding" in found.problem
    else:
        assert not found.problem
        assert (b"utf-8" in found.content) == (encoding == "iso-8859-1")


SHOWN = (
    "has the character U+{} on line {}; the character can hide or move text on a screen, so it is "
    "shown as {}"
)


@pytest.mark.parametrize(
    ("source", "shown", "remark"),
    [
        ("# a\rx = 1\r", "# a\nx = 1\n", ""),
        ("x = 'a\\\r\nb'\r\n", "x = 'a\\\r\nb'\r\n", ""),
        ("x = 1\n\f\ny = 2\n", "x = 1\n\ny = 2\n", ""),
        ("if 0:\n    1\n    \fx = 1\f+ 1\n", "if 0:\n    1\nx = 1 + 1\n", ""),
        ("\n# a\u202eb\x1b\n", "\n# a\\u202eb\\x1b\n", SHOWN.format("202E", 2, "\\u202e")),
        ('\n"""a\n\u2067"""; x', '\n"""a\n\\u2067"""; x', SHOWN.format(2067, 3, "\\u2067")),
        ("'\\\u2067'", "'\\\\\\u2067'", SHOWN.format(2067, 1, "\\u2067")),
        ("'#\f' '\\'\f'", "'#\\x0c' '\\'\\x0c'", SHOWN.format("000C", 1, "\\x0c")),
        ("r'\u202a' f'\f'", "r'\u202a' f'\f'", SHOWN.format("202A", 1, "\\u202a")),
        *(
            (f'{word}"\u2067"', f'{word}"\\u2067"', SHOWN.format(2067, 1, "\\u2067"))
            for word in ("return", "a if", "a or", "u", "x = ")
        ),
        *(
            (f'{word}"\u2067"', f'{word}"\u2067"', SHOWN.format(2067, 1, "\\u2067"))
            for word in ("=Rb", "f", "(B")
        ),
        ("# \u05d0\u200f \u0627\u200e", "# \u05d0\u200f \u0627\u200e", ""),
    ],
)
def test_what_a_screen_does_not_show_is_shown(source, shown, remark):
    """Nobody is refused for it: comments in any writing, pages of Emacs, lines of old systems."""
    assert read(source.encode()) == SourceText(shown.encode(), remark)


def test_what_is_converted_and_has_something_hidden_says_both():
    """In one sentence each."""
    shown = SHOWN.format("001B", 1, "\\x1b")
    assert read("#\x1b".encode("utf-16")).remark == f"{UTF_16}; it {shown}"


HIDDEN = ("\f", "\x1b", "\u2028", "\u202e", "\u2067")
PIECES = [
    *("'", '"', "'''", '"""', "\\", "#", "\r", "\n", "\r\n", "    ", "\t", "(", ")", "{", ";"),
    *("x", "=1", "if x:", "if 0:\n  x\n", "f", "r", "b", "u", *HIDDEN),
]


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
@example("b\\\n\f")
@example("if 0:\n    x\n  \f    x\f=1")
def test_python_reads_the_text_as_it_read_the_file(source):
    """The same code on the same lines, and only strings that have no escapes hide anything."""
    with warnings.catch_warnings(action="ignore"):
        try:
            tree = ast.parse(source.encode())
        except SyntaxError:
            return
        content = read(source.encode()).content
        again = ast.parse(content)
    assert ast.dump(again) == ast.dump(tree)
    lines = [[getattr(node, "lineno", 0) for node in ast.walk(each)] for each in (tree, again)]
    assert lines[0] == lines[1]
    assert re.search("[fbr][\"']", source) or not set(content.decode()) & set(HIDDEN)
    assert b"\r" not in content.replace(b"\r\n", b"")


@given(st.binary(max_size=200) | st.text(max_size=60).map(lambda text: text.encode("utf-16")))
@example(b"\xef\xbb\xbf\xef\xbb\xbf")
def test_whatever_comes_out_is_text(content):
    """Of UTF-8, without NUL; or nothing, and why."""
    found = read(content)
    assert "\0" not in found.content.decode()
    assert not (found.problem and (found.content or found.remark))


@pytest.mark.parametrize(
    "piece",
    [
        *(b" ", b"#", b"\n", b"# coding:", b"coding: ", b"\x80", b"a\0", b"'", b"\f"),
        *(b"'''\\\n", b"\\'''\n", b"#\x1b\n", b'"\x1b" '),
    ],
)
def test_a_hostile_file_is_read_in_one_pass(piece):
    """So many pieces would take hours if each were compared with all others."""
    read(b"# coding:" + piece * 300_000)
    read(b"\x1b" + piece * 300_000)

"""Whichever way an editor has saved a script, its text is the same; what is unclear is refused."""

import codecs
import io
import re
import tokenize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grader.listing.source_text import SourceText, read

TEXT = "# Übung von Zoë\nx = 'é'\n"
UTF_16 = "was converted from UTF-16, which Python does not read; save it as UTF-8"
CP1252 = "was converted from cp1252 (Windows), as line 1 is not in UTF-8; save it as UTF-8"


@pytest.mark.parametrize(
    ("content", "remark"),
    [
        (TEXT.encode(), ""),
        (codecs.BOM_UTF8 + TEXT.encode(), ""),
        (codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), UTF_16),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), UTF_16),
        (TEXT.encode("utf-16-le"), UTF_16),
        (TEXT.encode("utf-16-be"), UTF_16),
        (TEXT.encode("utf-32"), UTF_16.replace("16", "32")),
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
    source = f"{first}# vim: set fileencoding={name}{ending} :\nx = '\xe9\x81'\n"
    honest = source.replace(f"{name}{ending}", "utf-8".ljust(len(name + ending)))
    assert read(source.encode("latin-1")) == SourceText(honest.encode())


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
            (f"#\n# coding: {name}\n".encode(), f"has the coding {name} in line 2; ")
            for name in ("utf-7", "rot13", "unicode_escape", "punycode", "iso-8859-15", "utf-16")
        ),
        (b"x = 1\n\n\0", "has a NUL byte in line 3, as no Python file may; "),
        ("x = 1\n\0".encode("utf-16"), "has a NUL byte in line 2, as no Python file may; "),
        (bytes(8), "has a NUL byte in line 1, as no Python file may; "),
        (b"\xff\xfex", "is broken UTF-16 (byte 2); "),
        (b"\r\n\r\x81", "has the byte 0x81 in line 3, which is neither UTF-8 nor cp1252; "),
        (b"# coding: utf-8\n\xe9", "declares UTF-8, but byte 0xe9 in line 2 is not valid "),
        (codecs.BOM_UTF8 + b"\xe9", "declares UTF-8, but byte 0xe9 in line 1 is not valid "),
        (b"# coding: cp1252\n\x81", "declares cp1252, but byte 0x81 in line 2 is not valid "),
    ],
)
def test_what_is_unclear_is_refused_in_one_clause(content, problem):
    """It says what and where, and what to do."""
    found = read(content)
    assert found.content == b"" and found.problem.startswith(problem)
    assert found.problem.split("; ")[1].startswith("save it as UTF-8")
    assert found.problem.endswith("remove the coding line") == ("has the coding" in problem)


def test_a_mark_counts_more_than_a_coding_line():
    """Python refuses the two together; the mark is what an editor has written by itself."""
    source = "# coding: latin-1\nx = 'é'\n"
    honest = source.replace("latin-1", "utf-8  ").encode()
    remark = "was read as UTF-8, as its first bytes say; remove the coding latin-1 in line 1"
    assert read(codecs.BOM_UTF8 + source.encode()) == SourceText(honest, remark)
    assert read(source.encode("utf-16")) == SourceText(honest, UTF_16)


@given(st.text(st.characters(codec="cp1252", exclude_characters="\0"), max_size=200))
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
        assert "has the coding" in found.problem
    else:
        changed = re.sub(rb" +", b"", found.content) != re.sub(rb" +", b"", source)
        assert not found.problem and changed == (encoding == "iso-8859-1")


@given(st.binary(max_size=200) | st.text(max_size=60).map(lambda text: text.encode("utf-16")))
@example(b"\xef\xbb\xbf\xef\xbb\xbf")
def test_whatever_comes_out_is_text(content):
    """Of UTF-8, without NUL; or nothing, and why."""
    found = read(content)
    assert "\0" not in found.content.decode()
    assert not (found.problem and (found.content or found.remark))


@pytest.mark.parametrize("piece", [b" ", b"#", b"\n", b"# coding:", b"coding: ", b"\x80", b"a\0"])
def test_a_hostile_file_is_read_in_one_pass(piece):
    """A million pieces would take hours if each were compared with all others."""
    read(b"# coding:" + piece * 1_000_000)

"""The one text of a Python file that was handed in: what is run, shown and compared, in UTF-8."""

import codecs
import re
from dataclasses import dataclass
from encodings import normalize_encoding
from encodings.aliases import aliases

_MARKS = (
    (codecs.BOM_UTF8, "utf_8"),
    (codecs.BOM_UTF16_LE, "utf_16_le"),
    (codecs.BOM_UTF16_BE, "utf_16_be"),
)
_CALLED = {"utf_8": "UTF-8", "latin_1": "latin-1", "cp1252": "cp1252"}
"""What a coding line may name, and how people call it."""
_CODING_LINE = re.compile(
    rb"(?:[ \t\f]*+(?:#[^\r\n]*+)?(?:\r\n|\r|\n))??"
    rb"[ \t\f]*+#[^\r\n]*?coding[:=][ \t]*+([-\w.]+)"
)
"""PEP 263: a comment in line 1, or in line 2 if line 1 is blank or a comment."""
_WITH_ENDING = re.compile(r"(utf_8|latin_1|iso_8859_1|iso_latin_1)(?:_.*)?")
"""Names to which Python lets anything be added, such as the `-unix` of an editor."""
_HIDDEN = "[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]"
"""Characters that a screen does not show, takes for an end of a line, or turns others round by."""
_NOT_SHOWN = re.compile(_HIDDEN)
_IN_STRING = re.compile(rf"\\?{_HIDDEN}|\\\r?.", re.DOTALL)
_LONE_RETURN = re.compile(r"\r(?!\n)")
_PIECES = re.compile(
    "".join(
        rf"{quote * 3}(?:[^{quote}\\]|\\\r?.|{quote}(?!{quote * 2}))*+(?:{quote * 3})?|"
        rf"{quote}(?:[^{quote}\\\n]|\\\r?.)*+{quote}?|"
        for quote in "\"'"
    )
    + r"(?P<comment>#[^\n]*)|(?P<indentation>^[ \t\f]*\f(?!\Z))|(?P<space>\f)",
    re.DOTALL | re.MULTILINE,
)
"""Strings, comments, and form feeds outside of both: one in an indentation begins it anew."""
_FEEDS = {"indentation": "", "space": " "}
_WITHOUT_ESCAPES = re.compile(r"(?<!\w)[bfrt]{1,2}\Z", re.IGNORECASE)
"""What stands before a string in which an escape would be another text, or no Python."""
_MAX_NAME_CHARS = 40
_REMEDY = "save it as UTF-8"


@dataclass(frozen=True)
class SourceText:
    """What a file says, or why that is not known."""

    content: bytes
    """In UTF-8 without a mark; empty where the file is not read."""
    remark: str = ""
    """What to say of it all the same, as the end of a sentence that begins with its name."""
    problem: str = ""
    """Why it is not read, as the end of a sentence that begins with `it`; empty if it is."""


def read(content: bytes) -> SourceText:
    """Return the text of a Python file as a screen shows it: the same code and lines, in UTF-8.

    A mark at its beginning counts more than a coding line, which counts as in PEP 263. What is not
    shown becomes an escape in comments and strings, and stays in raw strings, byte strings and
    f-strings, whose value an escape might change. Elsewhere Python refuses it.
    """
    mark, codec = next((each for each in _MARKS if content.startswith(each[0])), (b"", ""))
    body, remark = content[len(mark) :], ""
    if codec not in ("", "utf_8"):
        name = codec[:6].replace("_", "-").upper()
        try:
            body = body.decode(codec).encode()
        except UnicodeDecodeError as error:
            return _not_read(f"is not valid {name} (byte {len(mark) + error.start}); {_REMEDY}")
        remark = f"was converted from {name}, which Python does not read; {_REMEDY}"
    if b"\0" in body:
        line = _line(body, body.index(0))
        return _not_read(f"has a NUL byte on line {line}, which Python does not allow; {_REMEDY}")
    said = _CODING_LINE.match(body)
    if said is None:
        return _decoded(body, codec, remark)
    name = said[1][:_MAX_NAME_CHARS].decode("ascii")
    named, line = _codec_called(name), _line(body, said.start(1))
    if named not in _CALLED:
        return _not_read(
            f"declares the unsupported encoding {name} on line {line}; {_REMEDY} without that line"
        )
    if named == "utf_8":
        return _decoded(body, named, remark)
    if codec == "utf_8":
        remark = "was read as UTF-8 because of its first bytes; "
        remark += f"remove the declaration of {name} on line {line}"
    start, end = said.span(1)
    honest = body[:start] + b"utf-8".ljust(end - start) + body[end:]
    return _decoded(honest, "utf_8" if codec else named, remark)


def _decoded(body: bytes, codec: str, remark: str) -> SourceText:
    """Return the text of a file that is in one of the codecs a coding line may name.

    codec: empty where nothing says which: UTF-8, or else cp1252.
    """
    tried = codec if codec in _CALLED else "utf_8"
    try:
        return _shown(body.decode(tried), remark)
    except UnicodeDecodeError as error:
        line, byte = _line(body, error.start), body[error.start]
    if codec:
        return _not_read(
            f"declares {_CALLED[codec]}, but byte {byte:#x} on line {line} is not valid "
            f"{_CALLED[codec]}; {_REMEDY}"
        )
    try:
        text = body.decode("cp1252")
    except UnicodeDecodeError as error:
        line, byte = _line(body, error.start), body[error.start]
        return _not_read(
            f"has the byte {byte:#x} on line {line}, which is neither UTF-8 nor cp1252; {_REMEDY}"
        )
    remark = f"was converted from cp1252 (Windows), because line {line} is not UTF-8; {_REMEDY}"
    return _shown(text, remark)


def _shown(text: str, remark: str) -> SourceText:
    """Return the text with the same meaning to Python, and with what a screen does not show."""
    text = _LONE_RETURN.sub("\n", text)
    if not _NOT_SHOWN.search(text):
        return SourceText(text.encode(), remark)
    told: list[str] = []

    def shown(piece: re.Match[str]) -> str:
        start = piece.start()
        hidden = _NOT_SHOWN.search(piece[0])
        if hidden is None or piece.lastgroup in _FEEDS:
            return _FEEDS.get(piece.lastgroup or "", piece[0])
        if not told:
            line = 1 + text.count("\n", 0, start + hidden.start())
            told.append(
                f"has the character U+{ord(hidden[0]):04X} on line {line}; the character can hide "
                f"or move text on a screen, so it is shown as {_escape(hidden)}"
            )
        if piece.lastgroup == "comment":
            return _NOT_SHOWN.sub(_escape, piece[0])
        if _WITHOUT_ESCAPES.search(text[max(0, start - 3) : start]):
            return piece[0]
        return _IN_STRING.sub(_escape, piece[0])

    content = _PIECES.sub(shown, text).encode()
    return SourceText(content, "; it ".join(filter(None, [remark, *told])))


def _escape(found: re.Match[str]) -> str:
    """Return the escape of what is not shown; where a backslash stands before it, with that one."""
    before, char = found[0][:-1], found[0][-1]
    return before * 2 + ascii(char)[1:-1] if _NOT_SHOWN.match(char) else found[0]


def _not_read(problem: str) -> SourceText:
    return SourceText(b"", problem=problem)


def _codec_called(name: str) -> str:
    """Return the name under which Python has a coding, as in PEP 263; of others, any name."""
    plain = normalize_encoding(name).lower()
    if known := _WITH_ENDING.fullmatch(plain):
        return "utf_8" if known[1] == "utf_8" else "latin_1"
    codec = aliases.get(plain, plain)
    return "utf_8" if codec == "ascii" else codec  # of which it is a part


def _line(content: bytes, index: int) -> int:
    """Return the number of the line that a byte is in; lines end as Python has it."""
    num_ends = content.count(b"\n", 0, index) + content.count(b"\r", 0, index)
    return 1 + num_ends - content.count(b"\r\n", 0, index)

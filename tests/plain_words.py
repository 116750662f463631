"""Names each sentence for users that breaks a rule of plain English; `make check` runs it.

Its sentences: the strings of modules, the docstrings of tests that students read, TOML, handouts.
"""

import ast
import re
import sys
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
MOST_WORDS = 25
MOST_LETTERS_OF_A_TITLE = 60
RULES = {
    "say must": r"\b(?:is|are|was|were) to (?:be|have|[a-z]+e?)\b|\b(?:has|have|had) to\b",
    "say correct": r"\b(?<!left and )(?<!to the )right\b(?!(?:-hand)? (?:neighbour|side|end|hand))",
    "put own before its noun": r"\bof (?:its|their|your|our|my|his|her|one's) own\b",
    "say it without a trailing concession": r"\bas well\b(?! as)|,? too(?=[.;]|$)|\bso do\b",
    "name who acts": r"(?:^|[,;:.]|\b(?:for|to|by|of|and|but|if|that)) who\b|"
    r"\b(?:whoever|somebody|someone|nobody|anybody|anyone|no one|a person)\b",
}
"""What to do, and what tells that it was not done."""
_SENTENCE_END = re.compile(r"(?<=[.?!:])\s+|\n\s*\n|\n(?=\s*[-*|#\d])")
_WORD = re.compile(r"[^\W\d_][\w'-]*")
_NOT_PROSE = re.compile(r"(?s)```.*?```|`[^`\n]*`|<!--.*?-->|^ {4}.*$|^\|.*$", re.MULTILINE)


def complaints(where, text, *, is_title=False):
    """Return (rule, sentence) of what is wrong with each sentence of a text."""
    if is_title:
        if len(text) > MOST_LETTERS_OF_A_TITLE or text[0].isupper() or text.endswith("."):
            yield "a title is a predicate of at most 60 letters", f"{where}: {text}"
    for sentence in _SENTENCE_END.split(text):
        num_words = len(_WORD.findall(sentence))
        if num_words > MOST_WORDS or sentence.count(";") > 1:
            yield f"at most {MOST_WORDS} words and one semicolon", f"{where}: {num_words}: {sentence}"
        for rule, broken in RULES.items():
            if re.search(broken, sentence):
                yield rule, f"{where}: {sentence}"


def of_module(path):
    """Yield line, text and whether it is a title of what a module can say."""
    tree = ast.parse(path.read_text())
    documents = {
        id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)
    }
    is_suite = path.name.startswith("test_") and "suites" in path.parts
    for each in ast.walk(tree):
        if is_suite and isinstance(each, ast.FunctionDef) and each.name.startswith("test_"):
            yield each.lineno, ast.get_docstring(each), True
        if isinstance(each, ast.JoinedStr):
            documents |= {id(part) for part in ast.walk(each)}
            yield each.lineno, "".join(
                part.value if isinstance(part, ast.Constant) else "X" for part in each.values
            ), False
        elif isinstance(each, ast.Constant) and isinstance(each.value, str):
            if id(each) not in documents:
                yield each.lineno, each.value, False


def of_table(value):
    """Yield every string of a TOML value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from of_table(each)


def found(root):
    """Yield the complaints of a checkout."""
    for folder in ("grader", "tests/suites"):
        for path in sorted((root / folder).rglob("*.py")):
            for line, text, is_title in of_module(path):
                if text and " " in text:
                    yield from complaints(f"{path.relative_to(root)}:{line}", text, is_title=is_title)
        for path in sorted((root / folder).rglob("*.toml")):
            for text in of_table(tomllib.loads(path.read_text())):
                yield from complaints(str(path.relative_to(root)), text)
    for path in sorted((root / "reference").glob("*/HANDOUT.md")):
        yield from complaints(str(path.relative_to(root)), _NOT_PROSE.sub("", path.read_text()))


if __name__ == "__main__":
    every = list(found(ROOT))
    for rule, sentence in every:
        print(f"{sentence}: {rule}")
    for rule, number in Counter(rule for rule, _ in every).items():
        print(number, rule, file=sys.stderr)
    sys.exit(bool(every))

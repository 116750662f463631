"""Names each sentence for users that breaks a rule of plain English; `make check` runs it.

Its sentences: the strings of modules, the titles of checks, TOML, and handouts.
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
    "duty is `must`": r"\b(?:is|are|was|were) to (?:be|have|give|go|hold|return|learn|send|take)\b|"
    r"\b(?:has|have|had) to\b",
    "results are `correct`; only people are right": r"\b(?:is|are|was|as|a|the|gets|be|not) right\b"
    r"(?!(?:-hand)? (?:neighbour|side|end))|\brightly\b",
    "`own` goes before its noun": r"\bof (?:its|their|your|our|my|his|her|one's) own"
    r"(?=[,.;:)]|$| (?:and|are|as|by|for|from|in|is|of|on|that|to|which|with)\b)",
    "no trailing concession": r"\bas well\b(?! as)|, too\b|\btoo(?=[.;]?$)|\band so do\b",
    "name the actor": r"(?:^|[,;:.]|\b(?:for|to|by|of|but|if|tell)) who\b|"
    r"\b(?:whoever|somebody|someone|nobody|anybody|anyone|no one|a person)\b",
    "at most 25 words and one semicolon": r";.*;",
}
"""What a sentence must not hold, and the rule that it breaks."""
TITLE = "a title is a predicate in lower case, at most 60 letters"
_SENTENCE_ENDS = re.compile(r"(?<=[.?!:])[\"')*]*\s+|\n\s*\n|\n(?=\s*(?:[-*|#]|\d\.))")
_WORD = re.compile(r"[^\W\d_][\w'-]*")
_IS_PROSE = re.compile(r"[a-z]{2,} [a-z]")
_CODE = re.compile(r"```.*?```|`[^`\n]*`|^ {4}.*?$|^\|.*?$", re.MULTILINE | re.DOTALL)


def broken_rules(text):
    """Yield each rule that a sentence of a text breaks, with the sentence."""
    for sentence in _SENTENCE_ENDS.split(text):
        found = [rule for rule, pattern in RULES.items() if re.search(pattern, sentence)]
        if len(_WORD.findall(sentence)) > MOST_WORDS:
            found.append("at most 25 words and one semicolon")
        yield from ((rule, " ".join(sentence.split())) for rule in found)


def of_module(path):
    """Yield line and text of each string that a module may say; placeholders are one word."""
    tree = ast.parse(path.read_text())
    told = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    for each in ast.walk(tree):
        if isinstance(each, ast.JoinedStr):
            told |= {id(part) for part in ast.walk(each)}
            parts = (getattr(part, "value", "") for part in each.values)
            yield each.lineno, "".join(part if isinstance(part, str) else "X" for part in parts)
        elif (
            isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in told
        ):
            yield each.lineno, each.value


def titles(path):
    """Yield line and title of each check of a module, also of those that several parts share."""
    for each in ast.walk(ast.parse(path.read_text())):
        if isinstance(each, ast.FunctionDef) and each.name.startswith("test_"):
            yield each.lineno, (ast.get_docstring(each) or "").split("\n")[0]


def of_table(value):
    """Yield every text of a TOML value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from of_table(each)


def texts(root):
    """Yield file, line and text of everything that users of a checkout can read."""
    for folder in ("grader", "tests/suites"):
        for path in sorted((root / folder).rglob("*.py")):
            yield from ((path, line, text) for line, text in of_module(path))
        for path in sorted((root / folder).rglob("*.toml")):
            yield from ((path, 0, text) for text in of_table(tomllib.loads(path.read_text())))
    for path in (*(root / "reference").glob("*/*.md"), *(root / "grader").rglob("*.md")):
        yield path, 0, _CODE.sub("X", path.read_text())


def complaints(root):
    """Yield each rule that is broken in a checkout, and where."""
    for path, line, text in texts(root):
        name = path.relative_to(root).as_posix()
        if _IS_PROSE.search(text):
            for rule, sentence in broken_rules(text):
                yield rule, f"{name}:{line}: {sentence}"
    for path in (
        *root.glob("tests/suites/*/test_*.py"),
        *root.glob("tests/suites/*/shared_*.py"),
        *root.glob("grader/addons/authoring/new_assignment/tests/suites/*/test_*.py"),
    ):
        for line, title in titles(path):
            rules = [rule for rule, _ in broken_rules(title)]
            if not title or len(title) > MOST_LETTERS_OF_A_TITLE or title[:1].isupper():
                rules.append(TITLE)
            name = path.relative_to(root).as_posix()
            yield from ((rule, f"{name}:{line}: {title}") for rule in rules)


if __name__ == "__main__":
    found = list(complaints(ROOT if len(sys.argv) < 2 else Path(sys.argv[1])))
    for rule, sentence in found:
        print(f"{sentence}\n    {rule}")
    for rule, number in Counter(rule for rule, _ in found).items():
        print(f"{number:4} {rule}", file=sys.stderr)
    sys.exit(bool(found))

"""Writes the pages that follow from code, for `make docs`; a test compares the references.

References lie in docs/ and begin with a few sentences written by hand, up to MARK. The pages in
BUILT are not committed: `--built` writes these alone, for `make site`.
"""

import ast
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import layouts
import public_api
import terminal_svg
from msgspec import NODEFAULT, structs
from red_team.archives import BUILDERS
from red_team.weakened import WEAKENINGS
from unit.report import example

from grader.addons.authoring import catalogue
from grader.course import assignment_file
from grader.course.courses import bundled
from grader.model.errors import EXIT_CODES
from grader.report import json_report

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
BUILT = DOCS / "generated"
MARK = "<!-- `make docs` writes what follows. -->\n"
TABLES = {
    "At the top": assignment_file.AssignmentTable,
    "`[[parts]]`": assignment_file.Part,
    "`[[manual]]`": assignment_file.Manual,
    "`[[manual.rubric]]`": assignment_file.RubricLine,
}
SCANNED = ("grader", "tests/suites")


def references() -> dict[Path, str]:
    """Return what each committed page says below its MARK."""
    return {
        DOCS / "api.md": public_api.tables(),
        DOCS / "assignment-file.md": assignment_keys(),
        DOCS / "exit-codes.md": exit_codes(),
        DOCS / "json.md": report_keys(),
        DOCS / "messages.md": messages(),
        DOCS / "trace-json.md": objects_of("trace.schema.json"),
    }


def built() -> dict[str, str]:
    """Return the pages that are not committed, by name."""
    course = bundled()
    known = [course.load(name) for name in course.names()]
    prices = {f"prices-{each.name}.md": catalogue.price_list(each) for each in known}
    return {
        "assignments.md": catalogue.markdown(known),
        "attacks.md": attacks(),
        "layouts.md": layouts.page(),
        **prices,
    }


def whole(page: Path, below: str) -> str:
    """Return a reference page with what it should say below its MARK."""
    return page.read_text().partition(MARK)[0] + MARK + "\n" + below


def table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table of Markdown."""
    columns = tuple(columns)
    lines = [columns, ("---",) * len(columns), *rows]
    cells = ([" ".join(cell.split()).replace("|", "&#124;") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


# assignment.toml -----------------------------------------------------------------------------


def assignment_keys() -> str:
    """Return a table of keys for each table of an assignment.toml."""
    meanings = _docstrings(ROOT / "grader" / "course" / "assignment_file.py")
    return "\n".join(
        f"## {heading}\n\n"
        + table(
            ("key", "value", "default", "meaning"),
            (
                (
                    f"`{key.encode_name}`",
                    _value_of(key),
                    _default_of(key),
                    meanings[struct.__name__, key.name],
                )
                for key in structs.fields(struct)
            ),
        )
        for heading, struct in TABLES.items()
    )


def _docstrings(module: Path) -> dict[tuple[str, str], str]:
    """Return the docstring of each field of each class."""
    found = {}
    for each in ast.walk(ast.parse(module.read_text())):
        if isinstance(each, ast.ClassDef):
            for field, after in zip(each.body, each.body[1:], strict=False):
                if isinstance(field, ast.AnnAssign) and isinstance(after, ast.Expr):
                    found[each.name, field.target.id] = after.value.value
    return found


def _value_of(key: structs.FieldInfo) -> str:
    for each in (key.type, *getattr(key.type, "__args__", ())):
        for meta in getattr(each, "__metadata__", ()):
            return meta.description.replace("[", "\\[")
    return "`true` or `false`"


def _default_of(key: structs.FieldInfo) -> str:
    if key.required:
        return "required"
    is_empty = key.default is NODEFAULT or key.default in ((), None)
    return "none" if is_empty else json.dumps(key.default)


# Exit codes and messages ---------------------------------------------------------------------


def exit_codes() -> str:
    """Return the table of exit codes."""
    return table(("code", "meaning"), ((str(code), text) for code, text in EXIT_CODES.items()))


def messages() -> str:
    """Return all causes by key, a section for each kind."""
    kinds: dict[str, dict[str, tuple[str, str]]] = {}
    for key, text, advice in sorted(_findings()):
        kinds.setdefault(key.partition(".")[0], {}).setdefault(key, (text, advice))
    return "\n".join(
        f"## {kind}\n\n"
        + table(
            ("cause", "sentence", "help"),
            ((f"`{key}`", *_escaped(said)) for key, said in found.items()),
        )
        for kind, found in kinds.items()
    )


def _escaped(said: Iterable[str]) -> Iterator[str]:
    for text in said:
        for character in "\\`*_<>[]":
            text = text.replace(character, f"\\{character}")
        yield text


def _findings() -> Iterator[tuple[str, str, str]]:
    """Yield key, sentence and help of each finding whose key is written out."""
    for folder in SCANNED:
        for path in sorted((ROOT / folder).rglob("*.py")):
            module = ast.parse(path.read_text())
            for scope in ast.walk(module):
                if isinstance(scope, ast.FunctionDef):
                    within = ast.Module([*_constants(module), scope], [])
                    for call in ast.walk(scope):
                        if _is_finding(call):
                            advice = [key.value for key in call.keywords if key.arg == "help"]
                            yield (
                                call.args[0].value,
                                _sentence(call.args[1], within),
                                _sentence(advice[0], within) if advice else "",
                            )


def _constants(module: ast.Module) -> list[ast.Assign]:
    return [each for each in module.body if isinstance(each, ast.Assign)]


def _is_finding(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and (
            (isinstance(node.func, ast.Name) and node.func.id in ("found", "Finding", "crash"))
            or (isinstance(node.func, ast.Attribute) and node.func.attr == "of")
        )
        and len(node.args) > 1
        and isinstance(node.args[0], ast.Constant)
        and bool(node.args[0].value)
    )


def _sentence(node: ast.expr, scope: ast.Module) -> str:
    """Return a text with `…` for what is put in; a variable is its last value before its use."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        parts = (each.value if isinstance(each, ast.Constant) else "…" for each in node.values)
        return re.sub("…+", "…", "".join(map(str, parts)))
    if isinstance(node, ast.IfExp):
        either = (_sentence(each, scope) for each in (node.body, node.orelse))
        return " / ".join(text for text in either if text)
    if isinstance(node, ast.BinOp):
        return _sentence(node.left, scope) + _sentence(node.right, scope)
    if isinstance(node, ast.Name):
        values = [
            each.value
            for each in ast.walk(scope)
            if isinstance(each, ast.Assign)
            and (each in scope.body or each.lineno < node.lineno)
            and any(isinstance(to, ast.Name) and to.id == node.id for to in each.targets)
        ]
        if values:
            last = max(values, key=lambda value: value.lineno)
            added = _added(node, scope, last.lineno)
            return "".join(_sentence(each, scope) for each in [last, *added])
    return "…"


def _added(use: ast.Name, scope: ast.Module, since: int) -> list[ast.expr]:
    """Return what is added to a text on the way to its use; of two ends, the plain one."""
    added = [
        each.value.orelse if isinstance(each.value, ast.IfExp) else each.value
        for parent in ast.walk(scope)
        for block in (getattr(parent, "body", None), getattr(parent, "orelse", None))
        if isinstance(block, list)
        for number, each in enumerate(block)
        if isinstance(each, ast.AugAssign)
        and isinstance(each.target, ast.Name)
        and each.target.id == use.id
        and each.lineno > since
        and any(use is node for later in block[number + 1 :] for node in ast.walk(later))
    ]
    return sorted(added, key=lambda value: value.lineno)


# JSON ----------------------------------------------------------------------------------------


def report_keys() -> str:
    """Return the keys of the report, and an example."""
    shown = json_report.render(example.small())
    return f"{objects_of('report.schema.json')}\n## Example\n\n```json\n{shown}\n```\n"


def objects_of(name: str) -> str:
    """Return a table for each object of a schema, under the path that it has."""
    schema = json.loads((ROOT / "grader" / "report" / name).read_text())
    return "\n".join(
        f"## {f'`{path}`' if path else 'The object'}\n\n"
        + table(
            ("key", "type", "meaning"),
            (
                (f"`{key}`", _type_of(each, schema), each["description"])
                for key, each in found["properties"].items()
            ),
        )
        for path, found in objects(schema).items()
    )


def objects(schema: dict) -> dict[str, dict]:
    """Return every object with fixed keys, by the path that it has; the same one only once."""
    found: dict[str, dict] = {}

    def visit(path: str, each: dict) -> None:
        each = _resolved(each, schema)
        for either in each.get("anyOf", ()):
            visit(path, either)
        if "items" in each:
            visit(f"{path}[]", each["items"])
        if "properties" in each:
            found[path] = each
            for key, value in each["properties"].items():
                visit(f"{path}.{key}".lstrip("."), value)

    visit("", schema)
    return found


def _resolved(each: dict, schema: dict) -> dict:
    return schema["$defs"][each["$ref"].rpartition("/")[2]] if "$ref" in each else each


def _type_of(each: dict, schema: dict) -> str:
    each = _resolved(each, schema)
    if "const" in each:
        return f"always {json.dumps(each['const'])}"
    if "anyOf" in each:
        return " or ".join(_type_of(either, schema) for either in each["anyOf"])
    if "enum" in each and not isinstance(each["enum"][0], str):
        return "integer"
    kinds = each.get("type", "string")
    return " or ".join([kinds] if isinstance(kinds, str) else kinds)


# Attacks -------------------------------------------------------------------------------------


def attacks() -> str:
    """Return what each attack tries and deserves, and which weakened judges give in to it."""
    told = {
        file.parent.name: tomllib.loads(file.read_text())
        for file in sorted((ROOT / "tests" / "hostile").glob("*/attack.toml"))
    }
    beaten: dict[str, list[str]] = {}
    for weakening in WEAKENINGS:
        for name in weakening.attacks:
            beaten.setdefault(name, []).append(weakening.name)
    rows = (
        (
            f"`{name}`",
            *_escaped([attack["about"]]),
            f"{attack.get('most_points', 0):g}",
            ", ".join(f"`{each}`" for each in beaten.get(name, ())),
        )
        for name, attack in told.items()
    )
    archives = (
        (f"`{each.__name__}`", *_escaped([(each.__doc__ or "").partition("\n")[0]]))
        for each in BUILDERS
    )
    return (
        "# Attacks\n\n*For maintainers: a reference.*\n\n"
        f"Each of these {len(told)} is a folder of `tests/hostile`, and the tests grade it in a "
        "real container. It may get what the same code deserves without the attack. Each of "
        f"{len(WEAKENINGS)} judges has one protection taken away, and an attack must beat it "
        "([threat model](../threat-model.md)).\n\n"
        + table(("attack", "what it tries", "most points", "weakened judges that give in"), rows)
        + "\n## Archives\n\nThey are made by `tests/red_team/archives`.\n\n"
        + table(("archive", "what it is"), archives)
    )


def main(arguments: list[str]) -> str | None:
    """Write all pages. Returns why not; None if they are written."""
    BUILT.mkdir(exist_ok=True)
    for name, text in built().items():
        (BUILT / name).write_text(text)
    if "--built" in arguments:
        return None
    terminal_svg.write()
    for page, below in references().items():
        page.write_text(whole(page, below))
    return public_api.main()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

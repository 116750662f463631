"""What grader.api consists of: the tables of its page, and the record that holds a change.

`python tests/public_api.py` writes the record, or says which version the change needs.
"""

import ast
import dataclasses
import enum
import inspect
import itertools
import json
import re
import sys
from pathlib import Path

from grader import api

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "tests" / "public_api.json"
COMMAND = "python tests/public_api.py"
CONSTANTS = {
    "ANY_SOURCE": "The peer of a receive that takes a message from any rank.",
    "API_VERSION": "The version of `grader.api`, such as `1.0`.",
    "Bounds": "An exact number, or a pair (fewest, most).",
    "Graph": "The neighbours of each rank: a mapping from ranks to sets of ranks.",
    "functions": "A module: sets of the names that calls of MPI and c10d have in a trace.",
}
"""Descriptions of constants, which have no docstring at run time."""
_PUBLIC_NAMES = {
    value.__name__: name
    for name, value in ((name, getattr(api, name)) for name in api.__all__)
    if isinstance(value, type)
}


# What there is -------------------------------------------------------------------------------


def surface(names=api.__all__, module=api):
    """Return every public thing of a module, by its name, with what it is.

    `f(x)` is a parameter of f, `f()` what it returns; `C.x` a field, method or member of C.
    """
    found = {}
    for name in names:
        value = getattr(module, name)
        if inspect.isclass(value):
            found |= _of_class(name, value)
        elif inspect.isfunction(value):
            found |= _of_function(name, value)
        elif inspect.ismodule(value):
            found[name] = "a module"
            found |= {f"{name}.{each}": "" for each in vars(value) if each.isupper()}
        else:
            found[name] = _text(value)
    found.pop("API_VERSION", None)
    return dict(sorted(found.items()))


def _of_class(name, value):
    found = {name: ", ".join(base.__name__ for base in value.__bases__)}
    if issubclass(value, enum.Enum):
        return found | {f"{name}.{member.name}": repr(member.value) for member in value}
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            if field.name.startswith("_"):
                continue
            default = _default(field.default, dataclasses.MISSING)
            found[f"{name}.{field.name}"] = f"{_text(field.type)}{default}"
    for attribute, member in inspect.getmembers(value):
        is_known = f"{name}.{attribute}" in found
        if attribute.startswith("_") or is_known or not _is_ours(value, attribute):
            continue
        if inspect.isfunction(member) or inspect.ismethod(member):
            found |= _of_function(f"{name}.{attribute}", member)
        elif isinstance(member, property):
            found[f"{name}.{attribute}"] = _of_function("", member.fget)["()"]
    return found


def _is_ours(value, attribute):
    owner = next(each for each in value.__mro__ if attribute in vars(each))
    return owner.__module__.startswith("grader")


def _of_function(name, function):
    signature = inspect.signature(function)
    found = {f"{name}()": _text(signature.return_annotation)}
    for number, (parameter, each) in enumerate(signature.parameters.items()):
        place = (
            "by name" if each.kind is each.KEYWORD_ONLY else f"{number}, {each.kind.description}"
        )
        default = _default(each.default, each.empty)
        if parameter != "self":
            found[f"{name}({parameter})"] = f"{place}: {_text(each.annotation)}{default}"
    return found


def _default(value, none):
    if value is none:
        return ""
    return " = a function" if callable(value) else f" = {value!r}"


def _text(annotation):
    """Return a type as it is called in grader.api, wherever it lies."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    short = re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", text)
    return re.sub(r"\w+", lambda name: _PUBLIC_NAMES.get(name[0], name[0]), short)


# What has changed ----------------------------------------------------------------------------


def needed_version(version, before, after):
    """Return the version that a change needs, at least: the same where nothing has changed."""
    major, minor = map(int, version.split("."))
    if any(after.get(name) != what for name, what in before.items()):
        return f"{major + 1}.0"
    added = after.keys() - before.keys()
    if any(_must_be_given(name, after[name]) and _owner(name) in before for name in added):
        return f"{major + 1}.0"
    return f"{major}.{minor + 1}" if added else version


def _owner(name):
    return f"{name.partition('(')[0]}()"


def _must_be_given(name, what):
    is_parameter = "(" in name and not name.endswith("()")
    return is_parameter and " = " not in what and "variadic" not in what


def problem(recorded, version, after):
    """Return what is wrong with the version of a surface, and what to do; empty if nothing is."""
    before = recorded["names"]
    if recorded["version"] == version and before == after:
        return ""
    needed = needed_version(recorded["version"], before, after)
    if _numbers(version) >= _numbers(needed):
        return f"grader.api is recorded as version {recorded['version']}: run `{COMMAND}`"
    changed = sorted(
        name for name in before.keys() | after.keys() if before.get(name) != after.get(name)
    )
    shown = ", ".join(changed[:5]) + (", ..." if changed[5:] else "")
    return (
        f"grader.api has changed ({shown}) and its version is still {version}: set API_VERSION in "
        f"grader/api/__init__.py to {needed}, as docs/api.md promises, say so in CHANGELOG.md, and "
        f"run `{COMMAND}`"
    )


def _numbers(version):
    return tuple(map(int, version.split(".")))


# Its page ------------------------------------------------------------------------------------


def tables():
    """Return the tables of the page: all names, a sentence each."""
    kinds = {"Checks and other functions": [], "Types": [], "Constants": []}
    for name in sorted(api.__all__, key=str.lower):
        value = getattr(api, name)
        if inspect.isfunction(value):
            kinds["Checks and other functions"].append((_call(name, value), sentence(name)))
        else:
            kind = "Types" if inspect.isclass(value) else "Constants"
            kinds[kind].append((name, sentence(name)))
    lines = [f"This is version {api.API_VERSION}."]
    for kind, rows in kinds.items():
        lines += ["", f"## {kind}", "", "| name | what it is |", "|---|---|"]
        lines += [f"| `{name}` | {what.replace('|', '&#124;')} |" for name, what in rows]
    lines += ["", "## Fields of `Call`", "", "| field | what it is |", "|---|---|"]
    lines += [f"| `{name}` | {what} |" for name, what in fields_of(api.Call)]
    return "\n".join([*lines, ""])


def fields_of(kind):
    """Yield the fields of a dataclass, each with the text below it."""
    (body,) = (node.body for node in ast.parse(inspect.getsource(kind)).body)
    for node, below in itertools.pairwise(body):
        if isinstance(node, ast.AnnAssign):
            is_text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            text = inspect.cleandoc(below.value.value) if is_text else ""
            yield node.target.id, " ".join(text.split())


def sentence(name):
    """Return what a name is, in one sentence."""
    if name in CONSTANTS:
        return CONSTANTS[name]
    return (inspect.getdoc(getattr(api, name)) or "").partition("\n")[0]


def _call(name, function):
    parameters = [
        each.replace(annotation=each.empty)
        for each in inspect.signature(function).parameters.values()
    ]
    return f"{name}{inspect.Signature(parameters)}".replace("|", "&#124;")


def main():
    """Write the record. Returns why not; None if it is written."""
    found = surface()
    if RECORD.exists():
        recorded = json.loads(RECORD.read_text())
        wrong = problem(recorded, api.API_VERSION, found)
        if "set API_VERSION" in wrong:
            return wrong
    RECORD.write_text(json.dumps({"version": api.API_VERSION, "names": found}, indent=1) + "\n")
    return None


if __name__ == "__main__":
    sys.exit(main())

"""Finds out which of a course's probe modules a launch needs: its ranks are sent no others."""

import ast
import functools
from collections.abc import Iterable, Mapping

_PACKAGE = "__init__"


def asked_probes(sources: Mapping[str, str], probes: Iterable[str]) -> dict[str, str]:
    """Return the modules that define these probes, and all that they import of each other.

    sources: the text of each module by its name. Where `__init__` only imports a probe, another one
    is sent that imports what is asked and nothing else. Sources that Python cannot read are all
    returned: a rank says what is wrong with them.
    """
    names = sorted(set(probes))
    try:
        places = {as_: (module, name) for module, name, as_ in _imports(sources.get(_PACKAGE, ""))}
        left = [places.get(name, (_PACKAGE, ""))[0] for name in names]
        asked: dict[str, str] = {}
        while left:
            module = left.pop()
            if module in sources and module not in asked:
                asked[module] = sources[module]
                # What is no module is a name of the package itself.
                left += [
                    each or (name if name in sources else _PACKAGE)
                    for each, name, _ in _imports(sources[module])
                ]
    except SyntaxError:
        return dict(sources)
    statements = [
        f"from .{places[name][0]} import {places[name][1]} as {name}\n"
        for name in names
        if name in places
    ]
    return {_PACKAGE: "".join(statements)} | asked


@functools.cache
def _imports(source: str) -> tuple[tuple[str, str, str], ...]:
    """Return each import of the package's own: from which module, what, and as what."""
    return tuple(
        ((node.module or "").partition(".")[0], alias.name, alias.asname or alias.name)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.level
        for alias in node.names
    )

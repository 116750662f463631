"""Sees which packages are imported: grading looks whether another solver is among them.

What is imported is told by the files that Python opens for it: names can be made up, a module can
go by another one or be gone again at the end, but nobody imports a package and opens no file of it.
"""

import ast
import importlib.util
import os
import sys
import sysconfig
from pathlib import Path

_MAX_PLACES = 50
_MAX_NAME_CHARS = 100
_CODE = (".py", ".pyc", ".so")
_INSTALLED = (
    *(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib")),
    str(Path(importlib.util.find_spec("torch").origin).parents[1]) + os.sep,
)


def places_in(folder, packages, names):
    """Return where the Python files of a folder import one of the packages, or use a name.

    Two lists of [file, line, name]. Files are read as text: what is never run counts too.
    """
    imports, used = [], []
    for path in sorted(folder.rglob("*.py")):
        try:
            nodes = list(ast.walk(ast.parse(path.read_bytes())))
        # MemoryError: nested deeper than the parser can take, so no Python can run it either.
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in nodes:
            where = [path.relative_to(folder).as_posix(), getattr(node, "lineno", 0)]
            found = [name for name in _imported_by(node) if name.split(".")[0] in packages]
            imports += [[*where, name] for name in found]
            name = getattr(node, "id", None) or getattr(node, "attr", None)
            if isinstance(node, ast.Name | ast.Attribute) and name in names:
                used.append([*where, name])
    return imports[:_MAX_PLACES], used[:_MAX_PLACES]


def imports_of(packages, record=None):
    """Return the list of [file, line, module] of who imports one of the packages, as it grows.

    It has what was noted before in this process, too: a package stays imported. What other
    processes import goes into the record, if there is one.
    """
    watch_imports({name: folder for name in packages for folder in _folders_of(name)}, record)
    return _watch.seen


def watch_imports(folders, record=None):
    """Note from now on who imports a package; there is no way back.

    folders: of packages, by name. record: where processes that are started note it.
    """
    if not _watch.is_there:
        sys.addaudithook(_watch)
        _watch.is_there = True
    # What was found before a submission ran is what counts.
    _watch.folders = {**folders, **_watch.folders}
    _watch.record = record


def watched_folders():
    """Return what is watched: a process that is not forked has to be told."""
    return _watch.folders


def note_imported(record):
    """Note what a process has imported before it could be watched."""
    for name in sorted(_watch.folders.keys() & sys.modules.keys()):
        record.add("imported", place=["sys.modules", 0, name])


class _Watch:
    """Is told by Python of every file that it opens, and of every compiled module that it loads."""

    def __init__(self):
        self.is_there = False
        self.folders = {}
        self.record = None
        self.seen = []
        # What a submission may put in their place.
        self._frame, self._real_path = sys._getframe, os.path.realpath

    def __call__(self, event, arguments):
        """Note who opens the file of a package that is watched."""
        if event not in ("open", "import"):
            return
        path = arguments[event == "import"]
        if not isinstance(path, str | bytes) or not os.fsdecode(path).endswith(_CODE):
            return
        path = self._real_path(os.fsdecode(path))
        for name, folder in self.folders.items():
            if path.startswith(folder):
                self._note(self._importer(tuple(self.folders.values())), name)

    def _note(self, where, name):
        """Note a line once, with the package that it imports first: that may import others."""
        if where in [place[:2] for place in self.seen] or len(self.seen) >= _MAX_PLACES:
            return
        self.seen.append([*where, name])
        if self.record is not None and os.getpid() != self.record.first_process:
            self.record.add("imported", place=[*where, name])

    def _importer(self, folders):
        """Return file and line of who imports: the innermost that is not installed.

        A thread may have nobody on its stack but those that are; there it is the outermost.
        """
        frame, where = self._frame(2), ["sys.modules", 0]
        while frame is not None:
            file = frame.f_code.co_filename
            if not file.startswith(("<frozen ", *folders)):
                where = [Path(file).name[:_MAX_NAME_CHARS], frame.f_lineno]
                if not file.startswith(_INSTALLED):
                    break
            frame = frame.f_back
        return where


_watch = _Watch()


def _folders_of(name):
    """Return the folders of an installed package, each ended by a slash; nothing is imported."""
    try:
        package = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return []
    folders = (package and package.submodule_search_locations) or []
    return [os.path.realpath(folder) + os.sep for folder in folders]


def _imported_by(node):
    """Return the modules that a node of a syntax tree imports; a literal name counts too."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module] if node.module and not node.level else []
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        value = node.args[0].value
        if name in ("import_module", "__import__") and isinstance(value, str):
            return [value]
    return []

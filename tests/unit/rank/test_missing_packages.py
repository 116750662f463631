"""Which imports of packages that are not installed a submission gets away with, until it uses them.

What it may not get away with is in here as well: each is an import that goes on raising.
"""

import builtins
import importlib
import sys
import textwrap
from pathlib import Path

import pytest

from grader.rank import missing_packages
from grader.rank.exception_report import describe
from grader.rank.import_finder import OwnModules

OTHERS = {
    "old/twice_there.py": "",
    "new/twice_there.py": "",
    "needs_a_package.py": "import not_installed_a",
    "mine/__init__.py": "",
    "who_imports.py": "import sys, traceback\n"
    "FILES = [frame.filename for frame in traceback.extract_stack(sys._getframe())]\n",
}


class Program:
    """A submission of `work.py` and others, and what there is to say of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._remarks = missing_packages.install(folder, folder.parent / "support")

    def run(self, source: str) -> dict:
        """Import work.py; return its globals."""
        (self.folder / "work.py").write_text(textwrap.dedent(source))
        return vars(importlib.import_module("work"))

    def problem(self, source: str) -> dict:
        """Return what is told of the exception that work.py raises."""
        with pytest.raises(BaseException) as caught:
            self.run(source)
        return describe(caught.value, self.folder)

    @property
    def remarks(self) -> list:
        return self._remarks.listed(str(self.folder))


@pytest.fixture
def program(tmp_path, monkeypatch) -> Program:
    root = tmp_path / "submission"
    for name, text in OTHERS.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    given = tmp_path / "support" / "given"
    given.mkdir(parents=True)
    (given / "given_by_course.py").write_text("import not_installed_b")
    monkeypatch.setattr(sys, "path", [*sys.path, str(given), str(root)])
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, OwnModules(root)])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(builtins, "__import__", builtins.__import__)
    before = set(sys.modules)
    yield Program(root)
    for name in set(sys.modules) - before:
        del sys.modules[name]


IMPORTS = [
    ("import not_installed", "not_installed"),
    ("import not_installed as n", "n"),
    ("import not_installed.b.c", "not_installed.b.c"),
    ("import not_installed.b as n", "n"),
    ("from not_installed import c", "c"),
    ("from not_installed.b import c, d as n", "n"),
]


@pytest.mark.parametrize(("statement", "name"), IMPORTS)
def test_what_nothing_uses_costs_nothing(program, statement, name):
    """It is remarked, and no other library sees anything of it."""
    program.run(f"import os\n{statement}\nanswer = 3\n")
    assert program.remarks == [("import", "not_installed", "work.py", 2)]
    assert not any(each.startswith("not_installed") for each in sys.modules)


@pytest.mark.parametrize(("statement", "name"), IMPORTS)
@pytest.mark.parametrize(
    "use",
    [
        *("{}.attribute", "{}(3)", "{}[3]", "for _ in {}: pass", "bool({})", "print({})", "{} + 1"),
        *("1 @ {}", "{}.x = 3", "class A({}): pass", "isinstance(3, {})", "open({})", "{}[0] = 1"),
        "with {}: pass",
    ],
)
def test_whatever_uses_it_raises_with_both_lines(program, statement, name, use):
    """Nothing is left to remark then."""
    told = program.problem(f"{statement}\n\n{use.format(name)}\n")
    assert (told["type"], told["message"]) == (
        "ModuleNotFoundError",
        "No module named 'not_installed'",
    )
    assert (told["file"], told["line"]) == ("work.py", 3)
    assert told["imported_at"] == "work.py:1"
    assert program.remarks == []


def test_our_frame_is_not_seen_by_whoever_looks_for_the_importer(program):
    """A thread may have nothing else on its stack."""
    seen = program.run("from who_imports import FILES\n")["FILES"]
    assert any(file.endswith("work.py") for file in seen)
    assert not any(file == missing_packages.__file__ for file in seen)


def test_an_import_within_a_function_is_like_any_other(program):
    """Also in a comprehension's function, a class or a branch."""
    program.run(
        """
        def load():
            import not_installed
            return 3
        class Plots:
            from not_installed import plot
        if True:
            import not_installed
        answer = load()
        """
    )
    assert [line for *_, line in program.remarks] == [6, 8, 3]


@pytest.mark.parametrize(
    "source",
    [
        "try:\n    import absent\nexcept ImportError:\n    answer = 3",
        "try:\n    import absent\nexcept Exception:\n    answer = 3",
        "try:\n    import json\n    from absent.b import c\nexcept ImportError:\n    answer = 3",
        "try:\n    import absent\nexcept ImportError:\n    try:\n        import absent_too\n"
        "    except ImportError:\n        answer = 3",
        "from contextlib import suppress\nanswer = 3\n"
        "with suppress(ImportError):\n    import absent\n    answer = 4",
        "def load():\n    import absent\ntry:\n    load()\nexcept ImportError:\n    answer = 3",
        "try:\n    import needs_a_package\nexcept ImportError:\n    answer = 3",
        "from typing import TYPE_CHECKING\nanswer = 3\nif TYPE_CHECKING:\n    import absent",
        "import absent\ntry:\n    import absent\nexcept ImportError:\n    answer = 3",
        "import importlib.util\nimport absent\n"
        "answer = 3 if importlib.util.find_spec('absent') is None else 4",
    ],
)
def test_who_handles_the_missing_package_goes_on_doing_so(program, source):
    """Whether the import stands in the `try`, or is reached from there."""
    assert program.run(source)["answer"] == 3


@pytest.mark.parametrize(
    "source",
    [
        "__import__('not_installed')",
        "import importlib\nimportlib.import_module('not_installed')",
        "exec('import not_installed')",
        "from not_installed import *",
        "from . import not_installed",
        "from .not_installed import name",
        "import twice_there",
        "import mine.not_there",
        "from mine import not_there",
        "import given_by_course",
    ],
)
def test_everything_else_raises_as_it_did(program, source):
    """What is handed in or given, and what is no statement of its own."""
    told = program.problem(source)
    assert told["type"] in ("ImportError", "ModuleNotFoundError")
    assert told["imported_at"] == ""
    assert program.remarks == []


FAILING = [
    ("from json import absent", "absent", "absent", "cannot import name 'absent' from 'json'"),
    ("from json import loads, absent as n", "n", "absent", "import name 'absent' from 'json'"),
    ("from json.absent import n", "n", "n", "No module named 'json.absent'"),
    ("from xml.etree import absent", "absent", "absent", "cannot import name 'absent'"),
    ("import json.absent", "json.absent", "absent", "No module named 'json.absent'"),
    ("import json.absent as n", "n", "absent", "No module named 'json.absent'"),
    ("import xml.etree.absent as n", "n", "absent", "No module named 'xml.etree.absent'"),
    ("import winreg", "winreg", "winreg", "No module named 'winreg'"),
    ("import broken_library", "broken_library", "broken_library", "named 'not_installed'"),
    ("import silent_library", "silent_library", "silent_library", "could not be imported"),
    ("from broken_library.b import n", "n", "n", "No module named 'not_installed'"),
    ("from half_broken import plots, core", "plots", "plots", "named 'not_installed'"),
]


@pytest.fixture
def libraries(tmp_path, monkeypatch):
    """Installed ones, of which something fails."""
    root = tmp_path / "site"
    (root / "half_broken").mkdir(parents=True)
    (root / "broken_library.py").write_text("import not_installed")
    (root / "silent_library.py").write_text("raise ImportError")
    (root / "half_broken" / "__init__.py").write_text("")
    (root / "half_broken" / "core.py").write_text("VALUE = 3")
    (root / "half_broken" / "plots.py").write_text("import not_installed")
    monkeypatch.setattr(sys, "path", [*sys.path, str(root)])


@pytest.mark.usefixtures("libraries")
@pytest.mark.parametrize(("statement", "about"), [(each[0], each[2]) for each in FAILING])
def test_an_import_that_fails_otherwise_is_remarked_if_nothing_uses_it(program, statement, about):
    """A name that is gone, a part that was not installed, a library that lacks another one."""
    program.run(f"{statement}\nanswer = 3\n")
    kind = "import" if about == "winreg" else "failed_import"
    assert program.remarks == [(kind, about, "work.py", 1)]


@pytest.mark.usefixtures("libraries")
@pytest.mark.parametrize(
    ("statement", "name", "message"), [(each[0], each[1], each[3]) for each in FAILING]
)
def test_what_uses_it_raises_what_python_has_said(program, statement, name, message):
    """And says which line imports it."""
    told = program.problem(f"{statement}\n\n{name}.attribute\n")
    assert message in told["message"]
    assert (told["file"], told["line"], told["imported_at"]) == ("work.py", 3, "work.py:1")
    assert program.remarks == []


@pytest.mark.usefixtures("libraries")
def test_what_is_there_of_a_library_stays(program):
    """Beside what is not."""
    found = program.run(
        """
        import json.absent
        from json import loads, absent
        from half_broken import core, plots
        answer = loads("3") + core.VALUE + json.loads("1")
        """
    )
    assert found["answer"] == 7
    assert len(program.remarks) == 3


def test_libraries_may_look_for_special_names(program):
    """An annotation is no use of a package."""
    program.run(
        """
        import copy
        from typing import Optional
        from not_installed import DataFrame
        def show(table: DataFrame, more: Optional[DataFrame] = None) -> list[DataFrame]: ...
        settings = copy.copy({"kind": DataFrame, DataFrame: 3})
        """
    )
    assert len(program.remarks) == 1

"""Probes find each other and the toolbox; a submission does not find them, nor they its modules."""

import builtins
import sys
import textwrap
import traceback
from types import ModuleType

import pytest

from grader.rank import exception_report, probe_modules, toolbox


def load(**sources: str) -> ModuleType:
    """Return the package of these modules; `first` is `__init__`."""
    texts = {name: textwrap.dedent(text) for name, text in sources.items()}
    return probe_modules.load({"__init__": texts.pop("first"), **texts})


@pytest.fixture
def stranger(monkeypatch):
    """A submission whose modules have all the names of ours."""
    for name in ("probes", "probes.other", "other", "toolbox", "grader.rank.other"):
        module = ModuleType(name)
        module.value = "the student's"  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, name, module)


def test_one_file_is_a_package_of_itself():
    """As small parts have it."""
    probes = load(first="import json\ndef call(x): return json.dumps(x)")
    assert probes.call([1]) == "[1]"


@pytest.mark.parametrize(
    "statement",
    [
        "from .other import value",
        "from . import other\nvalue = other.value",
        "from . import other as it\nvalue = it.value",
        "from .other import *",
        "def read():\n    from .other import value\n    return value\nvalue = read()",
    ],
)
def test_modules_import_each_other_in_every_way(stranger, statement):
    """Also where a submission has modules of these names."""
    probes = load(first=statement, other="value = 'ours'")
    assert probes.value == "ours"
    assert sys.modules["other"].value == sys.modules["probes"].value == "the student's"


def test_probes_have_dataclasses_whose_annotations_are_types():
    """Of texts, as the import from __future__ makes them, Python asks sys.modules."""
    text = "from dataclasses import dataclass\n@dataclass\nclass Pair:\n    one: int\n    two: int"
    assert load(first=text).Pair(1, 2).two == 2
    with pytest.raises(AttributeError):
        load(first=f"from __future__ import annotations\n{text}")


def test_a_module_runs_when_it_is_first_imported_and_once():
    """Within a function, long after the others."""
    probes = load(
        first="ran = []\ndef call():\n    from .late import number\n    return number, ran",
        late="from . import ran\nran.append('late')\nnumber = 3",
    )
    assert probes.ran == []
    assert probes.call() == probes.call() == (3, ["late"])
    assert probes.late.number == 3


def test_a_module_that_has_failed_runs_anew():
    """Half of it is not taken for the whole."""
    probes = load(
        first="fail = [1]\ndef call():\n    from .late import value\n    return value",
        late="from . import fail\nif fail.pop(): raise ValueError('too early')\nvalue = 3",
    )
    with pytest.raises(ValueError, match="too early"):
        probes.call()
    probes.fail.append(0)
    assert probes.call() == 3


def test_modules_may_import_each_other_in_a_circle():
    """As in any package, as long as nobody needs what is not there yet."""
    probes = load(
        first="from .one import call",
        one="from . import two\ndef call(): return two.answer()\ndef number(): return 4",
        two="from . import one\ndef answer(): return one.number()",
    )
    assert probes.call() == 4


def test_nothing_of_it_is_to_be_found_by_the_submission():
    """Neither by an import nor by a change of what imports."""
    finders, modules, importer = list(sys.meta_path), set(sys.modules), builtins.__import__
    load(first="from .other import value", other="value = 1")
    assert (sys.meta_path, set(sys.modules)) == (finders, modules)
    assert builtins.__import__ is importer
    with pytest.raises(ModuleNotFoundError):
        import probes  # noqa: F401 - there is none


def test_all_modules_are_compiled_before_the_first_runs():
    """Once a submission is there, nobody makes code in their name."""
    with pytest.raises(SyntaxError):
        load(first="x = 1", later="def")


def test_what_a_submission_puts_in_place_of_builtins_is_not_asked(monkeypatch):
    """An import of ours is ours."""
    probes = load(
        first="def call():\n    from .other import value\n    import json\n", other="value=1"
    )
    monkeypatch.setattr(builtins, "__import__", lambda *_: pytest.fail("asked"))
    probes.call()


def test_the_toolbox_is_there_under_the_name_it_has_for_authors():
    """Whatever the package around it is called in this process."""
    probes = load(first="from grader.rank.toolbox import replaced, packed as flat")
    assert (probes.replaced, probes.flat) == (toolbox.replaced, toolbox.packed)


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        (
            "import grader.api",
            "import grader.api; they .* only as: from grader.rank.toolbox import",
        ),
        ("from grader.rank import problem", "import grader.rank; they may import grader only as"),
        ("import grader.rank.toolbox", "they may import grader only as"),
        ("import probes.other", "a module of the submission; write: from .other import NAME"),
        ("from probes import other", "a module of the submission; write: from .MODULE import NAME"),
        ("from .missing import x", r"import .missing, but there is no probes/missing.py"),
        ("from . import missing", r"import .missing, but there is no probes/missing.py"),
        ("from .. import cases", r"import \.\.; every probe module must be"),
        ("from .folder.module import x", "must be directly in probes/"),
        ("import no_such_library", "No module named 'no_such_library'"),
    ],
)
def test_what_cannot_be_imported_is_told(statement, told):
    """In the words of who has to mend it."""
    with pytest.raises(ImportError, match=told):
        load(first=statement)


def test_no_line_of_a_submission_is_shown_for_one_of_ours(tmp_path, monkeypatch):
    """Though it has files of our names; and frames of ours are left out of what it is told."""
    (tmp_path / "probes").mkdir()
    for name in ("probes.py", "probes/__init__.py", "probes/other.py", "other.py"):
        (tmp_path / name).write_text("the line of a student\n" * 9)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    probes = load(first="from .other import call", other="def call(function):\n    function()")
    with pytest.raises(ZeroDivisionError) as caught:
        probes.call(lambda: 1 / 0)
    stack = traceback.extract_tb(caught.value.__traceback__)
    ours = next(frame for frame in stack if frame.name == "call")
    assert (ours.filename, ours.lineno, ours.line) == ("<probes.other>", 2, "")
    assert exception_report.frames_text([ours], [tmp_path]) == ""


def test_dataclasses_work_in_probes(stranger):
    """They look for the module that a class says it is of."""
    probes = load(
        first="""
        from dataclasses import dataclass, field
        @dataclass(frozen=True)
        class Step:
            rows: list = field(default_factory=list)
        """
    )
    assert probes.Step() == probes.Step(rows=[])

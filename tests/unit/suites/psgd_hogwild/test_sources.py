"""What files import is read off their text, wherever the import stands."""

import json

import pytest
from psgd_hogwild.sources import (
    SOLVERS,
    Sources,
    assert_no_import_of,
    assert_no_solver,
    imports,
    names,
    read,
)

from grader.judge.findings import RuleViolation
from grader.model import Outcome
from grader.trace.calls import Trace


@pytest.mark.parametrize(
    "text",
    [
        "import sklearn",
        "import numpy as np, sklearn.linear_model as lm",
        "from sklearn import metrics",
        "from sklearn.linear_model import SGDClassifier",
        "def f():\n    try:\n        import sklearn\n    except ImportError:\n        pass",
        "import importlib\nimportlib.import_module('sklearn.svm')",
        "s = __import__('sklearn')",
    ],
)
def test_an_import_is_found_however_it_is_written(text):
    """Plain, from, nested, and by name."""
    with pytest.raises(RuleViolation, match=r"^net\.py:\d imports sklearn.*; no solver$"):
        assert_no_import_of({"net.py": text}, SOLVERS, "no solver")


@pytest.mark.parametrize(
    "text",
    [
        "# import sklearn",
        "'''uses no sklearn'''",
        "from . import sklearn",
        "from .sklearn import x",
        "import sklearn_like",
        "import torch, numpy",
        "not python at all (",
        "nothing = 'import sklearn'",
    ],
)
def test_what_imports_no_solver_passes(text):
    """Comments, texts, modules of the student's own and files that are no Python."""
    assert_no_import_of({"net.py": text}, SOLVERS, "no solver")


def test_an_import_is_told_with_its_place():
    """File and line are those of the import."""
    (found,) = imports({"a/b.py": "\n\nimport xgboost.sklearn"})
    assert (found.file, found.line, found.module) == ("a/b.py", 3, "xgboost.sklearn")


def test_names_are_those_used_alone_and_as_attributes():
    """A lock is named by mp.Lock() as by Lock()."""
    found = {(each.line, each.name) for each in names({"x.py": "mp.Lock()\nwith RLock():\n  pass"})}
    assert {(1, "mp"), (1, "Lock"), (2, "RLock")} == found


@pytest.mark.parametrize("text", ["", "[1]", "no json", '{"a.py": 3}', "[" * 100_000])
def test_what_a_rank_sent_otherwise_than_asked_is_left_out(text):
    """Sources are texts by name, or they are nothing."""
    assert read(text) == {}


def test_the_files_of_a_submission_are_judged_together():
    """The import may be in a file that no part asks for."""
    files = {"psgd.py": "import more", "more.py": "import lightgbm"}
    outcome = Outcome("", 1, ({},), ({"sources": json.dumps(files)},), Trace(()), 0.0)
    with pytest.raises(RuleViolation, match=r"more\.py:1 imports lightgbm"):
        assert_no_solver(outcome)


def test_sources_are_asked_for_by_the_file_that_is_graded():
    """The probe reads the folder of that file."""
    assert Sources(file="psgd.py").inputs(None, 2, None) == [{"file": "psgd.py"}] * 2

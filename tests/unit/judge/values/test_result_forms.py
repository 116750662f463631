"""Results have the form that was announced, or are refused with a sentence."""

import numpy as np
import pytest

from grader.judge.values.result_forms import refuse
from grader.model.report import Array, Text


@pytest.mark.parametrize(
    ("array", "form", "words"),
    [
        (np.zeros(4), Array("float64", (3,)), "has shape (4,); expected (3,)"),
        (np.zeros((3, 1)), Array("float64", (3,)), "has shape (3, 1); expected (3,)"),
        (np.zeros(3, "f4"), Array("float64", (3,)), "is an array of float32; expected float64"),
        (np.array([0, np.nan]), Array("float64", (2,)), "[1] is nan"),
        (np.array(np.inf), Array("float64", ()), "it is inf"),
        (np.zeros(9), Array("float64", (None,), max_num_bytes=8), "takes up 72 bytes; at most 8"),
    ],
)
def test_results_of_another_form_are_refused(array, form, words):
    """Exactly the announced dtype, shape and finite numbers."""
    results, problem = refuse(2, {"recv": form}, {}, {"recv": array})
    assert results == {}
    assert problem.startswith("rank 2: recv ") and words in problem


def test_results_of_the_announced_form_pass():
    """NaN where it is allowed, any length where the length is open, texts as texts."""
    arrays = {"a": np.array([np.nan]), "b": np.ones(5)}
    forms = {
        "a": Array("float64", (1,), finite=False),
        "b": Array("float64", (None,)),
        "said": Text(),
    }
    results, problem = refuse(0, forms, {"texts": {"said": "hi"}}, arrays)
    assert problem == ""
    assert results["said"] == "hi" and len(results["b"]) == 5


@pytest.mark.parametrize("texts", [None, 3, {"recv": "an object of type list"}])
def test_a_missing_result_is_told(texts):
    """An object that is no array is named by its type."""
    _, problem = refuse(1, {"recv": Array("float64", (3,))}, {"texts": texts}, {})
    assert problem.startswith("rank 1: recv is ")
    assert "expected an array of float64" in problem

"""Packing is the order of the shapes, and back."""

import numpy as np
import pytest

from grader.oracles import element_name, num_elements, packed, slices, unpacked

SHAPES = {"fc.weight": (2, 3), "fc.bias": (2,), "scale": ()}
VECTOR = np.arange(9.0)


def test_arrays_lie_one_after_the_other_row_by_row():
    arrays = unpacked(VECTOR, SHAPES)
    assert {name: array.tolist() for name, array in arrays.items()} == {
        "fc.weight": [[0, 1, 2], [3, 4, 5]],
        "fc.bias": [6, 7],
        "scale": 8,
    }
    backwards = dict(reversed(arrays.items()))
    np.testing.assert_array_equal(packed(backwards, SHAPES), VECTOR)


def test_unpacked_arrays_share_the_memory_of_the_vector():
    assert all(np.shares_memory(each, VECTOR) for each in unpacked(VECTOR, SHAPES).values())


def test_nothing_is_packed_as_an_empty_vector():
    """A layer without parameters, and back."""
    assert packed({}, {}).shape == (0,)
    assert unpacked(packed({}, {}), {}) == {}
    single = packed({"scale": np.ones((), np.float32)}, {"scale": ()})
    assert single.dtype == np.float32


def test_slices_say_where():
    assert slices(SHAPES) == {
        "fc.weight": slice(0, 6),
        "fc.bias": slice(6, 8),
        "scale": slice(8, 9),
    }
    assert num_elements(SHAPES) == 9


@pytest.mark.parametrize(
    ("index", "name"), [(0, "fc.weight[0, 0]"), (5, "fc.weight[1, 2]"), (6, "fc.bias[0]")]
)
def test_an_element_has_the_name_that_a_student_knows(index, name):
    assert element_name(index, SHAPES) == name


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: unpacked(VECTOR[:8], SHAPES),
            r"packed vector: found shape \(8,\); expected \(9,\) \(it must contain the arrays",
        ),
        (lambda: unpacked(VECTOR[None], SHAPES), r"packed vector: found shape \(1, 9\)"),
        (
            lambda: packed({"fc.bias": VECTOR[:2]}, SHAPES),
            "found the arrays fc.bias; expected fc.weight, fc.bias, scale",
        ),
        (
            lambda: packed({**unpacked(VECTOR, SHAPES), "fc.bias": VECTOR[:1]}, SHAPES),
            r"fc.bias: found shape \(1,\); expected \(2,\)",
        ),
        (lambda: element_name(9, SHAPES), "found index 9; expected 0 to 8"),
        (lambda: element_name(-1, SHAPES), "found index -1; expected 0 to 8"),
    ],
)
def test_what_does_not_fit_is_said(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()

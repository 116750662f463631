"""What probes share, each by what it gives and by what it leaves as it was."""

import random
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from grader.rank import toolbox


class Base:
    @staticmethod
    def plain():
        return "plain"

    def inherited(self):
        return "inherited"


class Heir(Base):
    pass


def test_torch_is_not_imported_by_the_toolbox():
    """Over a second for a part that needs none; nor to seed what nobody draws from."""
    program = (
        "import sys\nfrom grader.rank import toolbox\ntoolbox.seed_everything(3)\n"
        "toolbox.packed([[1.0]])\nassert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("name", ["plain", "inherited"])
@pytest.mark.parametrize("owner", [Base, Heir])
def test_a_replaced_attribute_of_a_class_is_as_it_was(owner, name):
    """Of a class that has it, static or not, and of one that inherits it."""
    before = dict(vars(owner))
    with toolbox.replaced(owner, name, lambda *_: "other"):
        assert getattr(owner(), name)() == "other"
    assert dict(vars(owner)) == before
    assert getattr(owner(), name)() == name


def test_a_replaced_attribute_comes_back_after_an_exception():
    """Of any object."""
    owner = SimpleNamespace(value=1)
    with pytest.raises(toolbox.Enough), toolbox.replaced(owner, "value", 2):
        assert owner.value == 2
        raise toolbox.Enough
    assert owner == SimpleNamespace(value=1)
    with pytest.raises(AttributeError), toolbox.replaced(owner, "other", 2):
        pass


def test_no_script_catches_that_it_is_enough():
    """As it would with `except Exception`."""
    assert not issubclass(toolbox.Enough, Exception)


def test_output_is_copied_and_still_written(capsys):
    """Of both streams in one order."""
    with toolbox.copied_output() as written:
        print("one")
        print("two", file=sys.stderr)
        assert sys.stdout.encoding
    print("three")
    assert "".join(written) == "one\ntwo\n"
    assert capsys.readouterr() == ("one\nthree\n", "two\n")


@pytest.mark.parametrize("seed", [0, 7, (1 << 63) - 1])
def test_a_seed_is_the_seed_of_all(seed):
    """Of Python, numpy and torch; so that the same comes again."""

    def drawn():
        toolbox.seed_everything(seed)
        return random.random(), np.random.rand(), torch.rand(()).item()

    assert drawn() == drawn()
    toolbox.seed_everything(seed)
    assert drawn() != (random.random(), np.random.rand(), torch.rand(()).item())


def test_tensors_and_arrays_are_packed_in_order():
    """Of every type; one that belongs to a graph, one that is no row of memory, one of no axes."""
    given = [
        torch.tensor([[1.5, 2], [3, 4]], requires_grad=True).T,
        torch.tensor([5], dtype=torch.bfloat16),
        torch.tensor(6),
        np.array([[7]], dtype=np.int64),
        [8.5],
    ]
    vector = toolbox.packed(given)
    assert vector.dtype == np.float32
    assert vector.tolist() == [1.5, 3, 2, 4, 5, 6, 7, 8.5]
    assert toolbox.packed(iter(()), np.float64).dtype == np.float64
    assert toolbox.packed([]).shape == (0,)
    third = torch.tensor([1 / 3], dtype=torch.float64)
    assert toolbox.packed([third], np.float64)[0] == 1 / 3


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("int64", [2**53 + 1, -(2**53) - 1]),
        ("complex128", [1 + 2j, -3j]),
        ("complex32", [1 + 2j, -3j]),
        ("bfloat16", [1.5, -2.0]),
        ("bool", [True, False]),
    ],
)
def test_tensors_of_any_type_keep_their_numbers(name, numbers):
    """A whole number that no double is, an imaginary part, what numpy has no type for."""
    dtype = type(numbers[0]) if name != "int64" else np.int64
    given = torch.tensor(numbers, dtype=getattr(torch, name))
    assert toolbox.packed([given], dtype).tolist() == numbers


def test_a_view_that_torch_has_not_worked_out_is_packed():
    """Of a conjugate, and of its imaginary part, only the sign is noted."""
    given = torch.tensor([1 + 2j])
    assert toolbox.packed([given.conj()], np.complex128).tolist() == [1 - 2j]
    assert toolbox.packed([given.conj().imag]).tolist() == [-2]


def test_what_was_packed_is_unpacked():
    """Into arrays of its own; nothing may be left or missing."""
    arrays = [np.arange(6.0).reshape(2, 3), np.array(7.0), np.zeros((0, 2)), np.array([8.0])]
    vector = toolbox.packed(arrays, np.float64)
    found = toolbox.unpacked(vector, [array.shape for array in arrays])
    for array, same in zip(arrays, found, strict=True):
        np.testing.assert_array_equal(array, same, strict=True)
    found[0][...] = -1
    assert vector[0] == 0
    assert toolbox.unpacked(np.zeros(0), []) == []
    with pytest.raises(ValueError, match=r"shape \(8,\); expected \(2,\)"):
        toolbox.unpacked(vector, [(2,)])


def test_gradients_are_packed_with_zeros_for_none():
    """So that they always stand where their parameters do."""
    module = torch.nn.Linear(2, 1)
    assert toolbox.packed_gradients(module).tolist() == [0, 0, 0]
    module.weight.grad = torch.tensor([[3.0, 4.0]])
    assert toolbox.packed_gradients(module).tolist() == [3, 4, 0]


def test_batches_become_two_arrays():
    """Whole numbers also for none."""
    numbers, lengths = toolbox.flattened(iter([[3, 1], [], (2,)]))
    assert (numbers.tolist(), lengths.tolist()) == ([3, 1, 2], [2, 0, 1])
    assert [each.dtype for each in toolbox.flattened([])] == [np.int64, np.int64]


def test_vectors_become_a_matrix_of_as_many_columns():
    """Also none of them, and of no length."""
    assert toolbox.stacked([[1, 2], [3, 4]], 2).tolist() == [[1, 2], [3, 4]]
    assert toolbox.stacked([], 3, np.float64).shape == (0, 3)
    assert toolbox.stacked([np.zeros(0)] * 2, 0).shape == (2, 0)
    with pytest.raises(ValueError, match="reshape"):
        toolbox.stacked([[1, 2]], 3)


@pytest.mark.parametrize("kind", [np.array, torch.tensor])
def test_examples_are_told_by_their_bytes(kind):
    """Those of a batch that is no row of memory too; what is none of them is -1."""
    examples = kind([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])
    rows = toolbox.ExampleRows(examples)
    assert rows.of(examples[[1, 0]]) == [1, 2]
    assert rows.of(kind([[3.0, 1.0], [4.0, 2.0]]).T) == [1, 2]
    assert rows.of(kind([[1.0, 2.5]])) == [-1]
    assert rows.of(examples[:0]) == []


def test_an_exception_is_told_with_its_type():
    """As much of it as a result can hold, or all."""
    error = ValueError("x" * 600)
    assert toolbox.error_text(error, most_chars=14) == "ValueError: xx"
    assert len(toolbox.error_text(error)) == 500
    assert toolbox.error_text(error, most_chars=None) == f"ValueError: {error}"


def test_a_rank_pauses_so_often_and_no_more():
    pauses = toolbox.Pauses(2)
    for _ in range(3):
        pauses.pause()
    began_ns, ended_ns = pauses.spans_ns().T
    assert (ended_ns > began_ns).all()
    assert began_ns[1] >= ended_ns[0]
    assert toolbox.Pauses(0).spans_ns().shape == (0, 2)

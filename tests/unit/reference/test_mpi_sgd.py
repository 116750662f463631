"""Tests of what mpi_sgd gives its students: the network, its small functions and the digits."""

import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from data_files import mnist, published

from grader.course.courses import bundled

from .imports import imported

REFERENCE = Path(__file__).parents[3] / "reference" / "mpi_sgd"
SHARED_SUPPORT = Path(__file__).parents[3] / "grader" / "course" / "support"
MODULES = ("utils", "network", "images", "collect")


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """Import the support modules anew, and let go of their common names afterwards."""
    return imported(monkeypatch, MODULES, SHARED_SUPPORT, REFERENCE)


def squared_error(network, x, y):
    """Return the error that back_prop differentiates: half the squared distance, over the batch."""
    network.forward_prop(x)
    return 0.5 * np.sum((network.activations[-1] - y) ** 2)


def test_layers_are_numbered_from_the_input_with_a_dummy(given):
    """Layer i is index i in every list; the input layer's entries are dummies."""
    network = given["network"].NeuralNetwork([4, 3, 2])
    assert network.num_layers == 3
    assert [w.shape for w in network.weights] == [(1,), (4, 3), (3, 2)]
    assert [b.shape for b in network.biases] == [(4,), (3,), (2,)]
    assert network.weights[0].dtype == np.int64
    assert network.weights[0][0] == 0
    assert not any(b.any() for b in network.biases)


def test_back_prop_is_the_derivative_of_the_error(given):
    """Each gradient agrees with a finite difference, summed over the batch, biases first."""
    random = np.random.default_rng(1)
    network = given["network"].NeuralNetwork([4, 3, 5, 2])
    network.weights[1:] = [random.normal(size=w.shape) for w in network.weights[1:]]
    x, y = random.random((6, 4)), random.random((6, 2))
    network.forward_prop(x)
    nabla_b, nabla_w = network.back_prop(y)

    assert [g.shape for g in nabla_w] == [w.shape for w in network.weights]
    assert [g.shape for g in nabla_b] == [b.shape for b in network.biases]
    assert nabla_w[0].dtype == np.int64
    step = 1e-6
    for gradients, parameters in ((nabla_w, network.weights), (nabla_b, network.biases)):
        for gradient, parameter in zip(gradients[1:], parameters[1:], strict=True):
            assert gradient.dtype == np.float64
            assert gradient.flags.c_contiguous
            for index in np.ndindex(parameter.shape):
                before = parameter[index]
                parameter[index] = before + step
                above = squared_error(network, x, y)
                parameter[index] = before - step
                below = squared_error(network, x, y)
                parameter[index] = before
                assert gradient[index] == pytest.approx((above - below) / (2 * step), abs=1e-7)


def test_every_matrix_product_goes_through_the_matmul_parameter(given):
    """A student's own matmul is used forwards and backwards."""
    shapes = []

    def matmul(a, b):
        shapes.append((a.shape, b.shape))
        return np.matmul(a, b)

    network = given["network"].NeuralNetwork([4, 3, 2], matmul=matmul)
    network.forward_prop(np.ones((5, 4)))
    network.back_prop(np.ones((5, 2)))
    assert shapes == [
        ((5, 4), (4, 3)),
        ((5, 3), (3, 2)),
        ((3, 5), (5, 2)),
        ((5, 2), (2, 3)),
        ((4, 5), (5, 3)),
    ]


def test_batches_are_random_rows_without_repetition(given):
    """There are number_of_batches of them, and each label stays with its row."""
    network = given["network"].NeuralNetwork([1, 1], number_of_batches=7)
    data = np.arange(12.0).reshape(12, 1)
    batches = network.create_batches(data, 10 * data, 9)
    assert len(batches) == 7
    for x, y in batches:
        assert x.shape == y.shape == (9, 1)
        assert len(np.unique(x)) == 9
        assert np.array_equal(y, 10 * x)


def test_fit_learns_and_says_so(given, capsys):
    """Serial training separates two obvious classes and prints one line per epoch."""
    random = np.random.default_rng(2)
    labels = np.eye(2)[random.integers(0, 2, size=200)]
    data = np.repeat(labels, 2, axis=1) + 0.1 * random.random((200, 4))
    network = given["network"].NeuralNetwork([4, 8, 2], 0.5, 16, 100, 3)
    network.fit((data, labels), (data, labels))
    assert network.validate((data, labels)) == 200
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[-1] == "epoch 3 of 3: 200 of 200 validation images correct (100.0%)"


def test_without_validation_data_nothing_is_printed(given, capsys):
    """Validation data are optional."""
    network = given["network"].NeuralNetwork([4, 2], 1.0, 1, 1, 1)
    network.fit((np.ones((3, 4)), np.ones((3, 2))))
    assert capsys.readouterr().out == ""


def test_the_small_functions_have_the_shapes_that_handed_in_files_expect(given):
    """Random weights have no dummy; `from network import *` brings all names along."""
    utils = given["utils"]
    sizes = [4, 3, 2]
    assert [w.shape for w in utils.random_weights(sizes)] == [(4, 3), (3, 2)]
    assert [w.shape for w in utils.zeros_weights(sizes)] == [(4, 3), (3, 2)]
    assert [b.shape for b in utils.zeros_biases(sizes)] == [(4,), (3,), (2,)]
    assert np.abs(utils.xavier_initialization(16, 50)).max() <= 0.25
    assert [len(x) for x, _ in utils.create_batches(np.ones(7), np.ones(7), 3)] == [3, 3, 1]
    assert utils.add_elementwise([np.ones(2)], [np.ones(2)])[0].tolist() == [2.0, 2.0]
    assert utils.sigmoid(np.zeros(1))[0] == 0.5
    assert utils.sigmoid_prime(np.zeros(1))[0] == 0.25
    public = {name for name in vars(utils) if not name.startswith("_")}
    public -= {"os", "sys", "pairwise", "require_connected"}  # for programs alone
    assert public | {"random", "NeuralNetwork"} <= set(vars(given["network"]))


def test_the_bundled_digits_are_images_of_mnist_shape(given):
    """Three sets of 784 values in [0, 1] with one-hot labels, the same every time."""
    sets = given["collect"].load_mnist()
    assert [len(images) for images, _ in sets] == [1081, 216, 500]
    for (images, labels), (again, _) in zip(sets, given["collect"].load_mnist(), strict=True):
        assert images.shape == (len(labels), 784)
        assert labels.shape == (len(images), 10)
        assert images.min() == 0.0
        assert images.max() == 1.0
        assert np.array_equal(labels.sum(axis=1), np.ones(len(labels)))
        assert np.array_equal(images, again)


def test_mnist_files_are_used_when_a_folder_holds_them(given, monkeypatch, tmp_path):
    """The last sixth of the training file validates."""
    random = np.random.default_rng(3)
    images, labels = random.integers(0, 256, (60, 28, 28)), random.integers(0, 10, 60)
    contents = mnist(images, labels, images[:9], labels[:9])
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.setattr(given["images"], "_MNIST_FILES", published(contents))
    monkeypatch.setenv("GRADER_DATA", str(tmp_path))
    training, validation, test = given["collect"].load_mnist()
    assert np.array_equal(training[0], images[:50].reshape(50, 784) / 255)
    assert np.array_equal(validation[1].argmax(axis=1), labels[50:])
    assert np.array_equal(test[0], images[:9].reshape(9, 784) / 255)


def test_a_folder_without_mnist_means_the_bundled_digits(given, monkeypatch, tmp_path):
    """The folder may hold the data of other assignments only."""
    monkeypatch.setenv("GRADER_DATA", str(tmp_path))
    assert len(given["collect"].load_mnist()[0][0]) == 1081


@pytest.mark.parametrize("part", bundled().load("mpi_sgd").parts, ids=lambda p: p.name)
def test_the_handout_says_for_what_the_points_of_a_part_are(part):
    """The rows of its table, and what a row says in brackets, add up."""
    handout = (REFERENCE / "HANDOUT.md").read_text()
    section = handout.split(f". {part.name}\n")[1].split("\n##")[0]
    rows = re.findall(r"^\| ([\d.]+) \| (.*) \|$", section, re.MULTILINE)
    assert sum(float(points) for points, _ in rows) == part.points
    for points, told in rows:
        pieces = [float(piece) for piece in re.findall(r"\(([\d.]+)\)", told)]
        assert not pieces or sum(pieces) == float(points), told

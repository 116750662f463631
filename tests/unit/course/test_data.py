"""The images of a grading: from a folder that a course gives, else the bundled digits."""

from pathlib import Path

import numpy as np
import pytest

from grader.course import data as data_module
from grader.course.data import Data, require_known_files
from grader.course.support.images import Images
from grader.model.errors import UsageError

NAMES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


def mnist_in(folder: Path) -> Path:
    """Put files there that have the names of MNIST's."""
    for name in NAMES:
        (folder / name).write_bytes(b"")
    return folder


@pytest.fixture
def read(monkeypatch) -> list[str]:
    """Replace the reader of MNIST files; return what it was asked for."""
    asked = []
    digits = data_module.images.mnist

    def mnist(folder: object) -> Images:
        asked.append(str(folder))
        if folder == "":
            return digits("")
        one = np.zeros((1, 28, 28), np.uint8)
        return Images(one, np.zeros(1, np.int64), one, np.zeros(1, np.int64))

    monkeypatch.setitem(data_module._READERS, "MNIST", mnist)
    return asked


def test_without_a_folder_the_digits_are_used_and_nothing_is_said(tmp_path, monkeypatch):
    """Whatever the environment says: only the command line reads it."""
    monkeypatch.setenv("GRADER_DATA", str(mnist_in(tmp_path)))
    data = Data()
    assert data.mnist().train_images.shape == (1297, 28, 28)
    assert data.cifar10().train_images.shape == (1297, 3, 32, 32)
    assert data.notes() == ()


def test_the_digits_are_shared_by_gradings_and_nobody_can_change_them():
    """Else one grading could change the inputs of the next."""
    images = Data().cifar10()
    assert Data().cifar10() is images
    for array in vars(images).values():
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_what_the_folder_holds_is_read_once_and_said(tmp_path, read):
    """The report says on what was graded."""
    data = Data(mnist_in(tmp_path))
    assert data.notes() == ("no image from the data folder was needed",)
    assert data.mnist() is data.mnist()
    assert len(data.mnist().train_images) == 1
    assert read == [str(tmp_path)]
    assert data.notes() == ("graded on MNIST from the data folder",)


def test_what_the_folder_lacks_is_made_of_digits_and_said(tmp_path, read):
    """A course may hold the data of one assignment only."""
    data = Data(mnist_in(tmp_path))
    assert len(data.cifar10().train_images) == 1297
    assert data.notes() == ("graded on the bundled digits: the data folder does not have CIFAR-10",)


def test_a_folder_that_is_not_there_is_bad_usage(tmp_path):
    """One sentence names it."""
    with pytest.raises(UsageError, match=r"the data folder .*none does not exist"):
        Data(tmp_path / "none")


def test_a_folder_without_data_is_bad_usage(tmp_path):
    """One sentence names what was expected."""
    with pytest.raises(UsageError, match="has no known data files: expected those of MNIST"):
        Data(tmp_path)


def test_damaged_data_are_bad_usage_before_anything_is_graded(tmp_path):
    """The sentence of the reader is passed on."""
    with pytest.raises(UsageError, match=r"train-images-idx3-ubyte has 0 bytes; expected 47040016"):
        Data(mnist_in(tmp_path))


def test_part_of_the_data_is_bad_usage(tmp_path):
    """Neither the digits nor half of MNIST would be what the course meant."""
    (mnist_in(tmp_path) / NAMES[1]).unlink()
    with pytest.raises(UsageError, match="holds only part of MNIST: it lacks train-labels"):
        require_known_files(tmp_path)


def test_unreadable_data_are_bad_usage(tmp_path, monkeypatch):
    """The grading container's root may not read what only its owner may."""

    def refuse(folder: object) -> Images:
        raise PermissionError(13, "Permission denied", "/data/train-images-idx3-ubyte")

    monkeypatch.setitem(data_module._READERS, "MNIST", refuse)
    with pytest.raises(UsageError, match=r"^/data/train-images-idx3-ubyte cannot be read; let eve"):
        Data(mnist_in(tmp_path))

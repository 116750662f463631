"""The images that students and judge learn from: bundled digits, MNIST and CIFAR-10 files."""

import gzip
import hashlib
import os
import pickle
import subprocess
import sys
from pathlib import Path

import data_files
import numpy as np
import pytest
from data_files import old_batch, published

from grader.course.support import images

IMAGES_PY = Path(images.__file__)
RANDOM = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch):
    monkeypatch.delenv("GRADER_DATA", raising=False)


def publish(monkeypatch, table: str, contents: dict[str, bytes]) -> None:
    """Let these contents be the published ones."""
    monkeypatch.setattr(images, table, published(contents))


@pytest.fixture
def mnist(monkeypatch) -> dict[str, bytes]:
    """Return the contents of four small files, published as MNIST."""
    images = RANDOM.integers(0, 256, (17, 28, 28))
    contents = data_files.mnist(images[:12], np.arange(12) % 10, images[12:], np.arange(5))
    publish(monkeypatch, "_MNIST_FILES", contents)
    return contents


@pytest.fixture
def cifar10(monkeypatch) -> tuple[dict[str, bytes], dict[str, tuple[np.ndarray, list[int]]]]:
    """Return the contents of six small batches, published as CIFAR-10, and what is in them."""
    names = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]
    held = {
        name: (RANDOM.integers(0, 256, (4, 3072), dtype=np.uint8), [3, index, 0, 9])
        for index, name in enumerate(names)
    }
    contents = {
        name: old_batch(pixels, labels, name.encode()) for name, (pixels, labels) in held.items()
    }
    publish(monkeypatch, "_CIFAR10_FILES", contents)
    return contents, held


def write(folder: Path, contents: dict[str, bytes], packed: bool = False) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        if packed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(content))
        else:
            (folder / name).write_bytes(content)
    return folder


def test_the_digits_are_those_that_were_published():
    """1797 images and labels, with values stretched from 16 to 255."""
    pixels, labels = images.digits()
    assert (pixels.shape, pixels.dtype) == ((1797, 8, 8), np.uint8)
    assert (labels.shape, labels.dtype) == ((1797,), np.int64)
    digest = hashlib.sha256(pixels.tobytes() + labels.tobytes()).hexdigest()
    assert digest == "0b7e9c3202d7bcd255d6a19a238d3743bf5e320ba74812a6679958a017c55382"


def test_a_copy_needs_nothing_but_numpy_and_its_digits(tmp_path):
    """As in a student's folder."""
    for path in (IMAGES_PY, IMAGES_PY.with_name("digits.csv.gz")):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    script = "import sys, images; images.mnist(); images.cifar10(); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    packages = {name.partition(".")[0] for name in done.stdout.split()}
    assert "numpy" in packages
    assert not packages & {"grader", "torch"}


def test_without_digits_the_next_step_is_named(monkeypatch, tmp_path):
    """One sentence says what to copy, or what to set."""
    monkeypatch.setattr(images, "__file__", str(tmp_path / "images.py"))
    with pytest.raises(FileNotFoundError, match=r"copy digits.csv.gz from .* GRADER_DATA"):
        images.digits()


@pytest.mark.parametrize(
    ("read", "shape"), [(images.mnist, (28, 28)), (images.cifar10, (3, 32, 32))]
)
def test_the_bundled_digits_stand_in_for_both(read, shape):
    """In the shape and type of the real ones, shuffled, and the same every time."""
    first, second = read(), read()
    assert first.train_images.shape == (1297, *shape)
    assert first.test_images.shape == (500, *shape)
    for name in ("train_images", "train_labels", "test_images", "test_labels"):
        array = getattr(first, name)
        assert array.dtype == (np.uint8 if name.endswith("images") else np.int64)
        assert array.flags.writeable
        assert np.array_equal(array, getattr(second, name))
    assert first.train_images.max() == 255
    assert min(np.bincount(first.test_labels)) > 30
    assert not np.array_equal(first.train_labels[:20], images.digits()[1][:20])


def test_resizing_interpolates_linearly():
    """Corners stay, and what lies between two pixels has a value between theirs."""
    small = np.array([[[0, 100], [200, 40]]], dtype=np.uint8)
    large = images.resized(small, 3, 5)
    assert large.dtype == np.uint8
    assert large[0].tolist() == [
        [0, 25, 50, 75, 100],
        [100, 92, 85, 78, 70],
        [200, 160, 120, 80, 40],
    ]
    assert np.array_equal(images.resized(large, 2, 2), small)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("below", [".", "MNIST/raw"])
def test_mnist_files_are_read(mnist, tmp_path, packed, below):
    """Plain or packed, in the folder itself or where the usual tools put them."""
    write(tmp_path / below, mnist, packed)
    found = images.mnist(tmp_path)
    assert found.train_images.tobytes() == mnist["train-images-idx3-ubyte"][16:]
    assert found.train_labels.tolist() == [*range(10), 0, 1]
    assert found.test_images.shape == (5, 28, 28)
    assert found.test_labels.tolist() == [0, 1, 2, 3, 4]
    assert found.train_labels.dtype == np.int64


def test_cifar_batches_are_read(cifar10, tmp_path):
    """Five batches are for training, one after the other, and one is for testing."""
    contents, held = cifar10
    write(tmp_path / "cifar-10-batches-py", contents)
    found = images.cifar10(tmp_path)
    *training, (test_pixels, test_labels) = held.values()
    assert found.train_images.shape == (20, 3, 32, 32)
    expected = np.concatenate([pixels for pixels, _ in training])
    assert np.array_equal(found.train_images.reshape(20, 3072), expected)
    assert found.train_labels.tolist() == [label for _, labels in training for label in labels]
    assert np.array_equal(found.test_images.reshape(4, 3072), test_pixels)
    assert found.test_labels.tolist() == test_labels


def test_the_batches_of_this_test_are_what_python_2_wrote():
    """They unpickle to the arrays that went in, so that the reader is tested on the real form."""
    pixels = RANDOM.integers(0, 256, (2, 3072), dtype=np.uint8)
    batch = pickle.loads(old_batch(pixels, [7, 1], b"name"), encoding="bytes")
    assert np.array_equal(batch[b"data"], pixels)
    assert batch[b"labels"] == [7, 1]


def test_a_pickle_that_would_run_code_is_only_read(monkeypatch, tmp_path, cifar10):
    """Even with the published checksum nothing in it is obeyed."""

    class Attack:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "attacked"),)

    contents, _ = cifar10
    contents["data_batch_1"] = pickle.dumps({b"labels": [1], b"data": Attack()}, protocol=2)
    publish(monkeypatch, "_CIFAR10_FILES", contents)
    with pytest.raises(ValueError, match="expected 3072 values for each label"):
        images.cifar10(write(tmp_path / "data", contents))
    assert not (tmp_path / "attacked").exists()


def test_the_environment_names_the_folder(mnist, monkeypatch, tmp_path):
    """GRADER_DATA is used when no folder is given; an empty name means none at all."""
    write(tmp_path, mnist)
    monkeypatch.setenv("GRADER_DATA", str(tmp_path))
    assert len(images.mnist().train_images) == 12
    assert len(images.mnist("").train_images) == 1297
    assert len(images.cifar10().train_images) == 1297


def test_a_folder_says_what_it_holds(mnist, cifar10, tmp_path):
    """Nothing, one or both."""
    assert images.found_in(tmp_path) == ()
    write(tmp_path, mnist)
    assert images.found_in(tmp_path) == ("MNIST",)
    write(tmp_path, cifar10[0])
    assert images.found_in(tmp_path) == ("MNIST", "CIFAR-10")


def sentence(folder: Path, read=images.mnist) -> str:
    with pytest.raises((ValueError, FileNotFoundError)) as raised:
        read(folder)
    return str(raised.value)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    """Not silently replaced by the digits."""
    assert sentence(tmp_path / "none").startswith(f"the data folder {tmp_path / 'none'} does not")


def test_a_missing_file_is_named(mnist, tmp_path):
    """A forgotten file is not silently replaced by other images."""
    write(tmp_path, mnist)
    (tmp_path / "t10k-labels-idx1-ubyte").unlink()
    said = sentence(tmp_path)
    assert "holds only part of MNIST: it lacks t10k-labels-idx1-ubyte. Put all 4 files" in said


def test_a_file_that_was_cut_off_is_named(mnist, tmp_path):
    """With the bytes it has and should have."""
    write(tmp_path, mnist)
    file = tmp_path / "train-labels-idx1-ubyte"
    file.write_bytes(file.read_bytes()[:-3])
    assert f"{file} has 17 bytes; expected 20. It is incomplete" in sentence(tmp_path)


def test_a_packed_file_that_was_cut_off_is_named(mnist, tmp_path):
    """The end of the gzip file is missing."""
    write(tmp_path, mnist, packed=True)
    file = tmp_path / "train-images-idx3-ubyte.gz"
    file.write_bytes(file.read_bytes()[:-20])
    assert f"{file} cannot be unpacked" in sentence(tmp_path)


def test_a_file_that_is_no_gzip_is_named(mnist, tmp_path):
    """It only has the ending."""
    write(tmp_path, mnist, packed=True)
    file = tmp_path / "train-images-idx3-ubyte.gz"
    file.write_bytes(b"<html>not found</html>")
    assert f"{file} cannot be unpacked" in sentence(tmp_path)


def test_a_packed_file_is_never_unpacked_further_than_expected(mnist, tmp_path):
    """A gzip file can promise any number of bytes."""
    write(tmp_path, mnist, packed=True)
    file = tmp_path / "train-labels-idx1-ubyte.gz"
    file.write_bytes(gzip.compress(bytes(10_000_000)))
    assert f"{file} has more than 20 bytes when unpacked; expected 20" in sentence(tmp_path)


def test_a_changed_byte_is_noticed(mnist, cifar10, tmp_path):
    """The checksum found and the published one are both told."""
    write(tmp_path, mnist)
    write(tmp_path, cifar10[0])
    for name, read in (("train-images-idx3-ubyte", images.mnist), ("test_batch", images.cifar10)):
        file = tmp_path / name
        content = bytearray(file.read_bytes())
        content[-30] ^= 1
        file.write_bytes(content)
        found = hashlib.md5(content).hexdigest()
        expected = {**images._MNIST_FILES, **images._CIFAR10_FILES}[name][1]
        said = sentence(tmp_path, read)
        assert f"{file} has the MD5 checksum {found}; expected {expected}. It is damaged" in said
        assert said.endswith("copy it again")

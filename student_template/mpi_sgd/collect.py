"""The handwritten digits that the network learns from: read from this machine, never downloaded."""

import gzip
import os
from pathlib import Path

import numpy as np

_NUM_CLASSES = 10
_SIDE = 28
_IMAGES_MAGIC, _LABELS_MAGIC = 2051, 2049
_MNIST_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


def load_mnist():
    """Return (training, validation, test), each a pair (images, labels).

    images: float64, shape (n, 784), values in [0, 1]. labels: float64, shape (n, 10), one-hot.

    When the environment variable GRADER_DATA names a folder with the four files of MNIST (IDX
    format, plain or .gz), these are 50000, 10000 and 10000 of its images. Otherwise they are 1297,
    250 and 250 of scikit-learn's bundled 8x8 digits, enlarged to 28x28. Both are the same in every
    process and every time. Raises FileNotFoundError when the folder lacks some of the four files,
    ValueError when one is damaged or they do not fit together.
    """
    folder = os.environ.get("GRADER_DATA")
    found = [_find(Path(folder), name) for name in _MNIST_FILES] if folder else []
    if not any(found):
        return _load_bundled_digits()
    missing = [name for name, path in zip(_MNIST_FILES, found, strict=True) if path is None]
    if missing:
        raise FileNotFoundError(f"{folder} holds only part of MNIST; it lacks {', '.join(missing)}")
    return _load_mnist_files(*found)


def _load_mnist_files(train_images, train_labels, test_images, test_labels):
    images, labels = _read_idx(train_images, _IMAGES_MAGIC), _read_idx(train_labels, _LABELS_MAGIC)
    training_and_validation = _as_pair(images, labels)
    test = _as_pair(_read_idx(test_images, _IMAGES_MAGIC), _read_idx(test_labels, _LABELS_MAGIC))
    num_validation = len(images) // 6
    training = tuple(array[:-num_validation] for array in training_and_validation)
    validation = tuple(array[-num_validation:] for array in training_and_validation)
    return training, validation, test


def _load_bundled_digits():
    # Imported here so that a machine with MNIST files needs no scikit-learn.
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = _enlarge(digits.images * (255.0 / 16.0))
    # The bundled images come writer by writer: unshuffled, the test set would hold other writers
    # than the training set.
    order = np.random.default_rng(seed=0).permutation(len(images))
    images, labels = _as_pair(images[order], digits.target[order])
    return (
        (images[:-500], labels[:-500]),
        (images[-500:-250], labels[-500:-250]),
        (images[-250:], labels[-250:]),
    )


def _enlarge(images):
    """Return square images, shape (n, k, k), interpolated linearly to (n, 28, 28)."""
    num_rows = images.shape[1]
    # Row i of the matrix says with which weights the old rows make up new row i.
    positions = np.linspace(0, num_rows - 1, _SIDE)
    weights = np.maximum(0.0, 1.0 - np.abs(positions[:, None] - np.arange(num_rows)[None, :]))
    return weights @ images @ weights.T


def _as_pair(images, labels):
    """Return (images as rows of values in [0, 1], labels as one-hot rows)."""
    if len(images) != len(labels):
        raise ValueError(f"{len(images)} images do not go with {len(labels)} labels")
    return images.reshape(len(images), -1) / 255.0, np.eye(_NUM_CLASSES)[labels]


def _find(folder, name):
    """Return the path of a file of MNIST, packed or not; None when the folder has neither."""
    return next((p for p in (folder / name, folder / f"{name}.gz") if p.is_file()), None)


def _read_idx(path, magic):
    """Return the array in an IDX file: magic number, sizes (both big-endian), then bytes."""
    raw = path.read_bytes()
    if path.suffix == ".gz":
        raw = gzip.decompress(raw)
    num_dimensions = magic & 0xFF
    header = np.frombuffer(raw, dtype=">u4", count=min(1 + num_dimensions, len(raw) // 4))
    shape = tuple(int(size) for size in header[1:])
    values = np.frombuffer(raw, dtype=np.uint8)[4 * (1 + num_dimensions) :]
    if not header.size or header[0] != magic or len(values) != np.prod(shape):
        raise ValueError(f"{path} is damaged: its header and its length do not fit an IDX file")
    return values.reshape(shape)

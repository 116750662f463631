"""Images to learn from: MNIST or CIFAR-10 where a folder holds them, else small bundled digits.

Nothing is ever downloaded. The bundled ones are the 8x8 handwritten digits of digits.csv.gz, which
lies beside this file, enlarged to the size that the network expects: the test set of "Optical
Recognition of Handwritten Digits" by E. Alpaydin and C. Kaynak (1998), UCI Machine Learning
Repository, https://doi.org/10.24432/C50P49, under CC BY 4.0
(https://creativecommons.org/licenses/by/4.0/).
"""

import gzip
import hashlib
import os
import pickletools
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_NUM_TEST_DIGITS = 500

# Length in bytes and MD5 checksum, as published with the data; of MNIST's files when unpacked.
_MNIST_FILES = {
    "train-images-idx3-ubyte": (47040016, "6bbc9ace898e44ae57da46a324031adb"),
    "train-labels-idx1-ubyte": (60008, "a25bea736e30d166cdddb491f175f624"),
    "t10k-images-idx3-ubyte": (7840016, "2646ac647ad5339dbf082846283269ea"),
    "t10k-labels-idx1-ubyte": (10008, "27ae3e4e09519cfbb04c329615203637"),
}
_CIFAR10_FILES = {
    "data_batch_1": (31035704, "c99cafc152244af753f735de768cd75f"),
    "data_batch_2": (31035320, "d4bba439e000b95fd0a9bffe97cbabec"),
    "data_batch_3": (31035999, "54ebc095f3ab1f0389bbae665268c751"),
    "data_batch_4": (31035696, "634d18415352ddfa80567beed471001a"),
    "data_batch_5": (31035623, "482c414d41f54cd18b22e5b47cb7c3cb"),
    "test_batch": (31035526, "40351d587109b95175f43aff81a1287e"),
}
# Where the files lie when the usual tools have unpacked them.
_FOLDERS = (".", "MNIST/raw", "cifar-10-batches-py")


@dataclass(frozen=True)
class Images:
    """Images for training and for testing, each with the number of its class."""

    train_images: NDArray[np.uint8]
    """Of shape (n, height, width), or (n, 3, height, width) for red, green and blue."""
    train_labels: NDArray[np.int64]
    """Of shape (n,)."""
    test_images: NDArray[np.uint8]
    test_labels: NDArray[np.int64]


def mnist(folder: str | os.PathLike[str] | None = None) -> Images:
    """Return handwritten digits of 28x28 pixels, the same every time.

    They are the 60000 and 10000 of MNIST when `folder` holds its four files (IDX format, plain or
    .gz), else 1297 and 500 of the bundled digits. folder: the environment variable GRADER_DATA
    when left out; an empty name stands for the bundled digits. Raises FileNotFoundError when only
    some of the files are there, and ValueError when one is not as published.
    """
    found = _find(_MNIST_FILES, folder, "MNIST")
    if not found:
        return _bundled(28)

    def values(name: str, header_num_bytes: int) -> NDArray[np.uint8]:
        return np.array(np.frombuffer(_unpacked(found[name]), np.uint8, offset=header_num_bytes))

    return Images(
        values("train-images-idx3-ubyte", 16).reshape(-1, 28, 28),
        values("train-labels-idx1-ubyte", 8).astype(np.int64),
        values("t10k-images-idx3-ubyte", 16).reshape(-1, 28, 28),
        values("t10k-labels-idx1-ubyte", 8).astype(np.int64),
    )


def cifar10(folder: str | os.PathLike[str] | None = None) -> Images:
    """Return images of 3x32x32 values, the same every time.

    They are the 50000 and 10000 of CIFAR-10 when `folder` holds its six batches (the version for
    Python), else 1297 and 500 of the bundled digits in grey. folder: the environment variable
    GRADER_DATA when left out; an empty name stands for the bundled digits. Raises
    FileNotFoundError when only some of the files are there, and ValueError when one is not as
    published.
    """
    found = _find(_CIFAR10_FILES, folder, "CIFAR-10")
    if not found:
        grey = _bundled(32)
        return Images(
            grey.train_images[:, None].repeat(3, axis=1),
            grey.train_labels,
            grey.test_images[:, None].repeat(3, axis=1),
            grey.test_labels,
        )
    batches = {name: _batch(_unpacked(path)) for name, path in found.items()}
    test_images, test_labels = batches.pop("test_batch")
    return Images(
        np.concatenate([images for images, _ in batches.values()]),
        np.concatenate([labels for _, labels in batches.values()]),
        test_images,
        test_labels,
    )


def found_in(folder: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return which of `MNIST` and `CIFAR-10` a folder holds.

    Raises FileNotFoundError when there is no such folder, or when it has only some of the files.
    """
    known = {"MNIST": _MNIST_FILES, "CIFAR-10": _CIFAR10_FILES}
    return tuple(data for data, files in known.items() if _find(files, folder, data))


def digits() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the 1797 bundled digits of 8x8 pixels, values 0 to 255, and which digit each shows.

    Raises FileNotFoundError when their file does not lie beside this one.
    """
    file = Path(__file__).with_name("digits.csv.gz")
    if not file.is_file():
        raise FileNotFoundError(
            f"{file} does not exist: copy digits.csv.gz from the template, or set GRADER_DATA "
            "to a folder that holds MNIST or CIFAR-10"
        )
    with gzip.open(file, "rt") as lines:
        table = np.loadtxt(lines, delimiter=",")
    images = np.rint(table[:, :-1] * (255 / 16)).astype(np.uint8)
    return images.reshape(-1, 8, 8), table[:, -1].astype(np.int64)


def resized(images: NDArray[np.uint8], height: int, width: int) -> NDArray[np.uint8]:
    """Return images, shape (n, height before, width before), interpolated linearly."""
    rows = _interpolation(images.shape[1], height)
    columns = _interpolation(images.shape[2], width)
    return np.rint(rows @ images.astype(np.float64) @ columns.T).astype(np.uint8)


def _interpolation(num_old: int, num_new: int) -> NDArray[np.float64]:
    """Return a matrix whose row i says with which weights the old values make up new value i."""
    positions = np.linspace(0, num_old - 1, num_new)
    return np.maximum(0.0, 1.0 - np.abs(positions[:, None] - np.arange(num_old)))


def _bundled(side: int) -> Images:
    images, labels = digits()
    # They come writer by writer: unshuffled, the test images would be those of other writers.
    order = np.random.default_rng(seed=0).permutation(len(images))
    images, labels = resized(images[order], side, side), labels[order]
    end = len(images) - _NUM_TEST_DIGITS
    return Images(images[:end], labels[:end], images[end:], labels[end:])


def _find(
    names: dict[str, tuple[int, str]], folder: str | os.PathLike[str] | None, data: str
) -> dict[str, Path]:
    """Return the paths of all the files, packed or not; nothing when the folder has none of them.

    Raises FileNotFoundError when there is no such folder, or when it has only some of the files.
    """
    folder = os.environ.get("GRADER_DATA", "") if folder is None else folder
    if folder == "":
        return {}
    if not Path(folder).is_dir():
        raise FileNotFoundError(
            f"the data folder {folder} does not exist: name the folder that holds the files of "
            f"{data}. To use the bundled digits, name no folder"
        )
    found = {}
    for name in names:
        paths = [Path(folder, below, name + end) for below in _FOLDERS for end in ("", ".gz")]
        path = next((path for path in paths if path.is_file()), None)
        if path is not None:
            found[name] = path
    missing = [name for name in names if name not in found]
    if found and missing:
        raise FileNotFoundError(
            f"{folder} holds only part of {data}: it lacks {', '.join(missing)}. Put all "
            f"{len(names)} files there. To use the bundled digits, put none of them there"
        )
    return found


def _unpacked(path: Path) -> bytes:
    """Return the checked content of a file that may be packed with gzip."""
    num_bytes, _ = _expected(path)
    if path.suffix != ".gz":
        return _checked(path.read_bytes(), path)
    try:
        with gzip.open(path) as file:
            # One byte more than there should be tells that there are too many.
            return _checked(file.read(num_bytes + 1), path)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(
            f"{path} cannot be unpacked ({error}): expected a complete gzip file; copy it again"
        ) from None


def _checked(content: bytes, path: Path) -> bytes:
    """Return the content. Raises ValueError when it is not what was published."""
    num_bytes, checksum = _expected(path)
    unpacked = " when unpacked" if path.suffix == ".gz" else ""
    if len(content) != num_bytes:
        found = f"more than {num_bytes}" if len(content) > num_bytes else f"{len(content)}"
        raise ValueError(
            f"{path} has {found} bytes{unpacked}; expected {num_bytes}. It is incomplete or "
            "is another file: copy it again"
        )
    # The checksum is no secret: it tells damage, not an attack.
    found = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if found != checksum:
        raise ValueError(
            f"{path} has the MD5 checksum {found}{unpacked}; expected {checksum}. It is damaged or "
            "is another file: copy it again"
        )
    return content


def _expected(path: Path) -> tuple[int, str]:
    return {**_MNIST_FILES, **_CIFAR10_FILES}[path.name.removesuffix(".gz")]


def _batch(content: bytes) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return images and labels of one batch, which is a pickled dictionary of Python 2.

    Loading a pickle can run any code that somebody put into it. So its instructions are only read
    here, one after the other, and none is obeyed: all that is wanted is the list of numbers after
    the key `labels`, and the one long string after the key `data`.
    """
    key = ""
    pixels = b""
    labels = []
    for instruction, argument, _ in pickletools.genops(content):
        # Its strings come as bytes or, one character a byte, as str.
        text = argument.encode("latin-1", "replace") if isinstance(argument, str) else argument
        if text in (b"batch_label", b"labels", b"data", b"filenames"):
            key = text.decode()
        elif key == "labels" and isinstance(text, int) and instruction.name == "BININT1":
            labels.append(text)
        elif key == "data" and isinstance(text, bytes) and len(text) > len(pixels):
            pixels = text
    if not labels or len(pixels) != len(labels) * 3 * 32 * 32:
        raise ValueError(
            f"a batch holds {len(labels)} labels and {len(pixels)} values; expected 3072 values "
            "for each label: use the version of CIFAR-10 for Python"
        )
    images = np.array(np.frombuffer(pixels, np.uint8)).reshape(-1, 3, 32, 32)
    return images, np.array(labels, dtype=np.int64)

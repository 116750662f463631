"""Small files in the formats in which MNIST and CIFAR-10 are published."""

import hashlib
import struct

import numpy as np

Published = dict[str, tuple[int, str]]


def published(contents: dict[str, bytes]) -> Published:
    """Return length and checksum of each file, as the table of images.py has them."""
    return {
        name: (len(content), hashlib.md5(content).hexdigest()) for name, content in contents.items()
    }


def idx(array: np.ndarray) -> bytes:
    """Return an IDX file of unsigned bytes."""
    header = struct.pack(f">{1 + array.ndim}I", 0x800 + array.ndim, *array.shape)
    return header + array.astype(np.uint8).tobytes()


def mnist(images: np.ndarray, labels: np.ndarray, *test: np.ndarray) -> dict[str, bytes]:
    """Return the contents of the four files; test: images and labels of the others."""
    arrays = {"train": (images, labels), "t10k": test}
    return {
        f"{which}-{kind}-idx{array.ndim}-ubyte": idx(array)
        for which, both in arrays.items()
        for kind, array in zip(("images", "labels"), both, strict=True)
    }


def cifar10(images: np.ndarray, labels: np.ndarray) -> dict[str, bytes]:
    """Return the contents of the six batches, with a sixth of the images each."""
    names = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]
    parts = zip(names, np.split(images, 6), np.split(labels, 6), strict=True)
    return {
        name: old_batch(pixels.reshape(len(held), 3072), held.tolist(), name.encode())
        for name, pixels, held in parts
    }


def old_string(text: bytes) -> bytes:
    """Return the instruction by which Python 2 pickles a string."""
    short = b"U" + bytes([len(text)]) if len(text) < 256 else b"T" + struct.pack("<I", len(text))
    return short + text


def old_batch(pixels: np.ndarray, labels: list[int], name: bytes) -> bytes:
    """Return a batch as Python 2 wrote it: byte strings, and an array that numpy puts together."""
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\nq\x02cnumpy\nndarray\nq\x03K\x00\x85U\x01b\x87Rq\x04"
        + b"(K\x01"
        + struct.pack("<cHcH", b"M", len(pixels), b"M", 3072)
        + b"\x86cnumpy\ndtype\nq\x05U\x02u1K\x00K\x01\x87Rq\x06"
        + b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89"
        + old_string(pixels.tobytes())
        + b"tb"
    )
    numbers = b"]q\x07(" + b"".join(b"K" + bytes([label]) for label in labels) + b"e"
    names = b"]q\x08(" + b"".join(old_string(b"%d.png" % label) for label in labels) + b"e"
    return (
        b"\x80\x02}q\x01("
        + old_string(b"batch_label")
        + old_string(name)
        + old_string(b"labels")
        + numbers
        + old_string(b"data")
        + array
        + old_string(b"filenames")
        + names
        + b"u."
    )

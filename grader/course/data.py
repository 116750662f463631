"""The images that a grading's inputs are made of: those a course gives, else the bundled digits."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from grader.course.support import images
from grader.course.support.images import Images
from grader.model.errors import UsageError

_READERS = {"MNIST": images.mnist, "CIFAR-10": images.cifar10}


class Data:
    """MNIST and CIFAR-10, each read once, or made from the bundled digits if no folder has them."""

    def __init__(self, folder: Path | None = None) -> None:
        """Read all that a folder holds. Raises UsageError for files not as published."""
        self.folder = folder
        self._read: dict[str, Images] = {}
        self._used: dict[str, bool] = {}
        if folder is not None:
            held = require_known_files(folder)
            with _clear_sentences():
                self._read = {name: _READERS[name](folder) for name in held}

    def mnist(self) -> Images:
        """Return handwritten digits of 28x28 pixels."""
        return self._images("MNIST")

    def cifar10(self) -> Images:
        """Return images of 3x32x32 values."""
        return self._images("CIFAR-10")

    def notes(self) -> tuple[str, ...]:
        """Return what a report says about the images that inputs were made of."""
        if self.folder is None:
            return ()
        said = tuple(
            f"graded on {name} from the data folder"
            if held
            else f"graded on the bundled digits: the data folder does not have {name}"
            for name, held in self._used.items()
        )
        return said or ("no image from the data folder was needed",)

    def _images(self, name: str) -> Images:
        if name not in self._used:
            self._used[name] = name in self._read
        if name not in self._read:
            self._read[name] = _bundled(name)
        return self._read[name]


@functools.cache
def _bundled(name: str) -> Images:
    """Return what is made of the bundled digits, once for all gradings, so nobody may change it."""
    # An empty name keeps the environment from choosing another folder.
    made = _READERS[name]("")
    for array in vars(made).values():
        array.setflags(write=False)
    return made


def require_known_files(folder: Path) -> tuple[str, ...]:
    """Return which images a folder holds, by its files. Raises UsageError for none."""
    with _clear_sentences():
        held = images.found_in(folder)
    if not held:
        raise UsageError(
            f"{folder} has no known data files: expected those of MNIST "
            "(train-images-idx3-ubyte, ...) or CIFAR-10 (data_batch_1, ...). To grade on "
            "the bundled digits, omit --data and unset GRADER_DATA"
        )
    return held


@contextmanager
def _clear_sentences() -> Iterator[None]:
    try:
        yield
    except PermissionError as error:
        raise UsageError(
            f"{error.filename} cannot be read; let everyone read it: chmod -R a+rX {error.filename}"
        ) from None
    except (OSError, ValueError) as error:
        raise UsageError(str(error)) from None

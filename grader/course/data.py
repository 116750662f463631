"""The images that a grading's inputs are made of: those a course gives, else the bundled digits."""

from pathlib import Path

from grader.course.support import images
from grader.course.support.images import Images
from grader.model.errors import UsageError

_READERS = {"MNIST": images.mnist, "CIFAR-10": images.cifar10}


class Data:
    """MNIST and CIFAR-10, each read once; made from the bundled digits if no folder holds them."""

    def __init__(self, folder: Path | None = None) -> None:
        """Read all that the folder holds, if one is given.

        Raises UsageError when there is no such folder, when it holds none of the known files, or
        when they are not as published.
        """
        self.folder = folder
        self._is_given = folder is not None
        self._read: dict[str, Images] = {}
        self._used: dict[str, bool] = {}
        if folder is not None:
            held = require_known_files(folder)
            try:
                self._read = {name: _READERS[name](folder) for name in held}
            except PermissionError as error:
                raise UsageError(_unreadable(error)) from None
            except (OSError, ValueError) as error:
                raise UsageError(str(error)) from None

    def mnist(self) -> Images:
        """Return handwritten digits of 28x28 pixels."""
        return self._images("MNIST")

    def cifar10(self) -> Images:
        """Return images of 3x32x32 values."""
        return self._images("CIFAR-10")

    def notes(self) -> tuple[str, ...]:
        """Return what a report says about the images that inputs were made of."""
        if not self._is_given:
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
            # An empty name keeps the environment from choosing another folder.
            self._read[name] = _READERS[name]("")
        return self._read[name]


def require_known_files(folder: Path) -> tuple[str, ...]:
    """Return which images a folder holds, by the names of its files.

    Raises UsageError when there is no such folder or it holds none.
    """
    try:
        held = images.found_in(folder)
    except PermissionError as error:
        raise UsageError(_unreadable(error)) from None
    except FileNotFoundError as error:
        raise UsageError(str(error)) from None
    if not held:
        raise UsageError(
            f"{folder} has no known data files: expected those of MNIST "
            "(train-images-idx3-ubyte, ...) or of CIFAR-10 (data_batch_1, ...); leave --data "
            "and GRADER_DATA out to grade on the bundled digits"
        )
    return held


def _unreadable(error: PermissionError) -> str:
    return f"{error.filename} cannot be read; let everyone read it: chmod -R a+rX"

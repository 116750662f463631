"""What probes share: `from grader.rank.toolbox import replaced`, in a rank as in open mode.

Nothing here knows an assignment, a right answer, or which phase a call belongs to: a probe marks
phases itself, for the recorder asks whether one does. torch is imported by who asks for it only.
Functions take tensors of torch and arrays of numpy alike; their sizes are told as (rows, columns).
"""

import contextlib
import random
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

_NUM_NUMPY_SEEDS = 1 << 32
_PAUSE_S = 0.05


class Enough(BaseException):
    """Ends the student's code: what a case is about has been seen.

    No Exception, which a script may catch. A probe raises it in what the student's code calls, and
    suppresses it around the student's code.
    """


@contextlib.contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Let an attribute of a module, class or object have another value for a while.

    What has inherited it inherits it again afterwards. Raises AttributeError where there is
    none of that name.
    """
    before = getattr(owner, name)
    is_inherited = name not in getattr(owner, "__dict__", (name,))
    if isinstance(owner, type) and not is_inherited:
        before = vars(owner)[name]  # a static method itself, not the function in it
    setattr(owner, name, value)
    try:
        yield
    finally:
        if is_inherited:
            delattr(owner, name)
        else:
            setattr(owner, name, before)


@contextlib.contextmanager
def copied_output() -> Iterator[list[str]]:
    """Yield a list that gets all texts written to sys.stdout and sys.stderr, in their order.

    They are written all the same. What C code prints is not seen, nor what goes to the streams by
    way of a reference from before.
    """
    written: list[str] = []
    with contextlib.ExitStack() as stack:
        for name in ("stdout", "stderr"):
            stack.enter_context(replaced(sys, name, _Copied(getattr(sys, name), written)))
        yield written


class _Copied:
    """A text stream whose text is kept as well."""

    def __init__(self, stream: Any, written: list[str]) -> None:
        self._stream = stream
        self._written = written

    def write(self, text: str) -> Any:
        self._written.append(text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def seed_everything(seed: int) -> None:
    """Seed the random numbers of Python and numpy, and those of torch where it has been imported.

    seed: from 0 on, below 2**63; numpy, which takes no more, gets its last 32 bits. Give each rank
    another one: so a program that seeds nothing finds what it finds anywhere.
    """
    random.seed(seed)
    np.random.seed(seed % _NUM_NUMPY_SEEDS)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)


def packed(arrays: Iterable[Any], dtype: npt.DTypeLike = np.float32) -> npt.NDArray[Any]:
    """Return all numbers of tensors, arrays or lists as one vector, each in C order, in a row.

    Its shape is (sum of their sizes,), which is (0,) for none. A tensor may belong to a graph.
    Raises ValueError or TypeError for what holds no numbers.
    """
    vectors = [_array(each).ravel() for each in arrays]
    return np.concatenate([np.zeros(0, dtype), *vectors], dtype=dtype, casting="unsafe")


def _array(given: Any) -> npt.NDArray[Any]:
    if hasattr(given, "detach"):
        plain = given.detach().resolve_conj().resolve_neg()
        try:
            given = plain.numpy()
        except TypeError:  # numpy does not have all types of torch; these hold the others' numbers
            given = (plain.cdouble() if plain.is_complex() else plain.double()).numpy()
    return np.asarray(given)


def unpacked(vector: npt.NDArray[Any], shapes: Sequence[tuple[int, ...]]) -> list[npt.NDArray[Any]]:
    """Return the arrays of these shapes that `packed` has made a vector of: copies, in its dtype.

    Raises ValueError where the vector has not as many numbers as the shapes.
    """
    sizes = [int(np.prod(shape)) for shape in shapes]
    if vector.shape != (sum(sizes),):
        raise ValueError(f"a vector of shape {vector.shape}; expected ({sum(sizes)},)")
    pieces = np.split(vector, np.cumsum(sizes)[:-1]) if sizes else []
    return [piece.reshape(shape).copy() for piece, shape in zip(pieces, shapes, strict=True)]


def packed_gradients(module: Any) -> npt.NDArray[np.float32]:
    """Return the gradients of all parameters of a torch.nn.Module as one vector.

    As long as `packed(module.parameters())`, with zeros for a parameter that has no gradient.
    """
    return packed(
        np.zeros(tuple(parameter.shape)) if parameter.grad is None else parameter.grad
        for parameter in module.parameters()
    )


def flattened(
    lists: Iterable[Sequence[int]],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return whole numbers in a row, and how many each list has: so batches become results.

    For n lists the shapes are (sum of their lengths,) and (n,).
    """
    known = [list(each) for each in lists]
    numbers = np.array([number for each in known for number in each], dtype=np.int64)
    return numbers, np.array([len(each) for each in known], dtype=np.int64)


def stacked(
    rows: Sequence[npt.ArrayLike], num_columns: int, dtype: npt.DTypeLike = np.float32
) -> npt.NDArray[Any]:
    """Return vectors as the rows of a matrix, of shape (len(rows), num_columns) also for none.

    Raises ValueError where a row has another length.
    """
    return np.array(rows, dtype=dtype).reshape(len(rows), num_columns)


class ExampleRows:
    """Tells by their bytes which examples a batch holds: so it is known what was trained on."""

    def __init__(self, examples: Any) -> None:
        """examples: (n, ...), a tensor or array; of equal ones the last counts."""
        self._row_of = {row.tobytes(): number for number, row in enumerate(np.asarray(examples))}

    def of(self, batch: Any) -> list[int]:
        """Return the row of each example of a batch, (m, ...); -1 for what is none of them.

        Only what has the dtype of the examples can be one. batch: belongs to no graph.
        """
        return [self._row_of.get(example.tobytes(), -1) for example in np.asarray(batch)]


class Pauses:
    """Pauses in what a rank computes, for `assert_at_once` of grader.api to compare."""

    def __init__(self, number: int) -> None:
        """number: how many there are at most."""
        self._number = number
        self._spans: list[tuple[int, int]] = []

    def pause(self) -> None:
        """Pause for a moment, unless there have been enough pauses."""
        if len(self._spans) < self._number:
            began_ns = time.monotonic_ns()
            time.sleep(_PAUSE_S)
            self._spans.append((began_ns, time.monotonic_ns()))

    def spans_ns(self) -> npt.NDArray[np.int64]:
        """Return when each pause began and ended, of shape (pauses, 2)."""
        return stacked(self._spans, 2, np.int64)


def error_text(error: BaseException, most_chars: int | None = 500) -> str:
    """Return an exception's type and text as a result can hold it, cut after so many characters."""
    return f"{type(error).__name__}: {error}"[:most_chars]

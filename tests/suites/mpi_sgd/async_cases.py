"""What the asynchronous part is called with."""

from dataclasses import replace

from .fit_cases import SLOW, SLOW_LATER, Fit, timed

FILE, CLASS_NAME = "async_network.py", "AsynchronicNeuralNetwork"
FEW_RANKS = [2, 3, 4, 5]
RANKS = [*FEW_RANKS, 8, 16]

ONE_MASTER, TWO_MASTERS = "one master", "two masters"
UNEVEN, MANY, LARGE, UNBUFFERED = "uneven", "many", "large layers", "unbuffered"

_SMALL, _SMALL_FOR_FOUR = (6, 9, 7, 12), (6, 9, 7, 12, 8)
"""All layers in one message are shorter than what MPI stores of its own accord. Each array of
weights has more elements than a training has batches, so that these tell what it changed by."""
LARGE_LAYERS = (12, 33, 27, 64, 56)
"""No two sets of layers have nearly the same size, and some are too long to be stored."""
_EVEN, _UNEVEN = 12, 11
"""Batches an epoch: 12 divide evenly among 1, 2, 3, 4 and 6 workers; 11 among one alone."""

_MOST_BATCHES, _MOST_EPOCHS = 48, 5
"""Where both are drawn: 48 are 16 of each worker."""


def cases_by_ranks() -> dict[int, tuple[Fit, ...]]:
    """Return all cases for every number of ranks: one launch each."""
    return {ranks: _cases(ranks) for ranks in RANKS}


def timing_cases(attempt: int) -> tuple[Fit, ...]:
    """Return yardsticks, then one fit that loads the student's file, then as many of theirs."""
    return (
        *timed(FILE, CLASS_NAME, 1, "yardstick", attempt),
        _fit(1, ONE_MASTER),
        *timed(FILE, CLASS_NAME, 1, "timing", attempt, "timing"),
    )


def standalone_cases() -> tuple[Fit]:
    """Return the one case in which MPI.Init and MPI.Finalize are the real ones."""
    return (_fit(2, TWO_MASTERS),)


def _cases(ranks: int) -> tuple[Fit, ...]:
    """Return the plainest first; what has several masters last, for that one subject may hang."""
    return {
        2: (
            _fit(1, ONE_MASTER),
            *timed(FILE, CLASS_NAME, 1, "yardstick", 0),
            *timed(FILE, CLASS_NAME, 1, "timing", 0, "timing"),
        ),
        3: (
            _fit(1, ONE_MASTER),
            _fit(1, UNBUFFERED),
            _fit(2, TWO_MASTERS),
        ),
        4: (
            _fit(1, ONE_MASTER),
            *_slow(1),
            _fit(1, UNEVEN, _UNEVEN),
            _fit(2, TWO_MASTERS),
            _fit(2, LARGE),
        ),
        5: (
            _fit(1, UNEVEN, _UNEVEN),
            _fit(2, TWO_MASTERS),
            *_slow(2),
            _fit(2, UNBUFFERED),
        ),
        8: (
            _fit(1, MANY, 5),  # more workers than batches
            _fit(2, MANY),
            _fit(4, MANY, _UNEVEN),
            # A master that knows how many workers it has may wait for them only then.
            _fit(1, "", 9 * 7, epochs=1, purpose=SLOW),
        ),
        16: (
            _fit(1, MANY, 17, epochs=1),
            _fit(4, MANY, _UNEVEN),  # more workers than batches
        ),
    }[ranks]


def _slow(masters: int) -> list[Fit]:
    """Return trainings beside any worker but the last that is slow, the last, and one later."""
    # Of 9 batches each, the other two workers do 8 meanwhile. A master that lets workers run only a
    # few batches ahead stops serving them.
    slow = _fit(masters, "", 27, epochs=1, purpose=SLOW)
    later = _fit(masters, "", _MOST_BATCHES, epochs=_MOST_EPOCHS, purpose=SLOW_LATER)
    return [slow, replace(slow, number=1), later]


def _fit(
    masters: int,
    group: str,
    number_of_batches: int = _EVEN,
    *,
    epochs: int = 2,
    purpose: str = "values",
) -> Fit:
    small = _SMALL if masters == 1 else _SMALL_FOR_FOUR
    return Fit(
        "fit_beside_a_slow_worker" if purpose in (SLOW, SLOW_LATER) else "fit",
        group == UNBUFFERED,
        subject="several masters" if masters > 1 else group,
        file=FILE,
        class_name=CLASS_NAME,
        sizes=LARGE_LAYERS if group == LARGE else small,
        number_of_batches=number_of_batches,
        epochs=epochs,
        mini_batch_size=8,
        num_masters=masters,
        purpose=purpose,
        group=group,
        learning_rate=0.02,  # late gradients of many workers would drive the sigmoids flat
    )

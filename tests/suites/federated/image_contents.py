"""Whether the server gives the others images, judged by samples of what it sends.

A sample is 8 bytes from a place that is drawn. A number of a scaled image is one of 256.
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from grader.api import Call, NotProven, Trace, functions, messages, samples_of

from . import lenet
from .gathering import SERVER, num_bytes_given

_LEAST_SHARE = 0.25
"""Of the bytes of the images: with samples of a mixed message it is seen, or not."""
_LARGEST_OF_MODELS = [
    precision * size
    for precision in (1, 2)
    for size in (lenet.MODEL_NUM_BYTES, lenet.FLOAT32_NUM_BYTES * prod(lenet.SHAPES["fc1.weight"]))
]
_NEAR = 64
"""Zeros at the ends of an array are not counted."""
_OFF = 1e-4
"""Of a pixel's value from 0 to 255, at most, is what rounding leaves: of random numbers one in
5000 is as near to a whole one."""


def assert_images_given(
    trace: Trace,
    num_examples: Mapping[int, int],
    images: np.ndarray[tuple[int, ...], np.dtype[np.uint8]],
) -> None:
    """Assert that the server gives each of these ranks numbers of images in a quarter of the bytes.

    num_examples: the images that each rank is to get. images: all, of shape (n, 3, 32, 32). What
    was not sampled, or is in a code that nobody reads, may hold them. Raises NotProven.
    """
    plain = [images.tobytes(), images.transpose(0, 2, 3, 1).tobytes()]
    to_all = sum(
        _num_bytes_of_images(call, num_bytes_given(call, SERVER), plain)
        for call in trace.ranks[SERVER].calls
        if call.function in functions.COLLECTIVES
    )
    for rank, number in num_examples.items():
        needed = _LEAST_SHARE * number * lenet.IMAGE_NUM_BYTES
        # What a scatter hands out is not sampled.
        scattered = [each for each in trace.ranks[rank].calls if "scatter" in each.function.lower()]
        num_bytes = to_all + sum(max(call.num_bytes, 0) for call in scattered)
        for call in messages(trace, SERVER, rank):
            if num_bytes < needed:
                num_bytes += _num_bytes_of_images(call, call.num_bytes, plain)
        if num_bytes < needed:
            text = f"Samples of the data that the server sent rank {rank} show only {num_bytes:,} "
            text += f"bytes of images; at least {needed:,.0f} are needed. The rank might not train "
            text += "on images from the server; your instructor reviews this part."
            facts: dict[str, Any] = {"rank": rank, "num_bytes": num_bytes}
            facts["needed_num_bytes"] = int(needed)
            raise NotProven.of("evidence.images_not_given", text, **facts)


def are_images(call: Call) -> bool:
    """Return whether all samples of a call are of images in float32."""
    return call.sampled_num_bytes > 0 and _are_pixels(samples_of(call, "f4").ravel())


def _num_bytes_of_images(call: Call, num_bytes: int, plain: Sequence[bytes]) -> int:
    """Return how many of these bytes of a call may be of images: float32, float64 or bytes."""
    words = np.array([call.sample_first, call.sample_middle, call.sample_last], "<i8")
    if call.sampled_num_bytes <= 0 or any(_is_of_image(each.tobytes(), plain) for each in words):
        return num_bytes
    # Of a pickle only the largest array is sampled: a model's may have smaller images beside it.
    is_model = any(abs(call.sampled_num_bytes - each) < _NEAR for each in _LARGEST_OF_MODELS)
    beside = num_bytes - max(call.sampled_num_bytes, lenet.MODEL_NUM_BYTES) - lenet.IMAGE_NUM_BYTES
    return max(beside, 0) if call.pickled and is_model else 0


def _is_of_image(word: bytes, plain: Sequence[bytes]) -> bool:
    # In a pickle, numbers may begin anywhere.
    inner = [np.frombuffer(word, "<f4", 1, offset) for offset in (1, 2, 3)]
    return any(
        map(_are_pixels, [np.frombuffer(word, "<f4"), np.frombuffer(word, "<f8"), *inner])
    ) or any(word in each for each in plain)


@np.errstate(all="ignore")
def _are_pixels(numbers: np.ndarray[tuple[int], np.dtype[np.floating]]) -> bool:
    values = (numbers.astype("f8") * 0.5 + 0.5) * 255
    return bool(((np.abs(values - values.round()) < _OFF) & (values > -1) & (values < 256)).all())

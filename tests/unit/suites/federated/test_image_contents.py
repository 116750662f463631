"""Whether a server's messages are told to hold images, by their samples."""

from dataclasses import replace

import numpy as np
import pytest
from federated import lenet
from federated.image_contents import assert_images_given

from grader.judge.check_failures import NotProven

from .runs import START, raises
from .test_contents import message
from .test_origins import trace_of

RANDOM = np.random.default_rng(6)
IMAGES = RANDOM.integers(1, 256, size=(40, 3, 32, 32), dtype=np.uint8)
SCALED = ((IMAGES.astype(np.float32) / 255 - 0.5) / 0.5)[:20]


def assert_served(*messages, num_examples=20):
    """Assert that a server gives rank 1 its images by these messages."""
    trace = trace_of({})
    sent = tuple(replace(each, peer=1, sequence=i) for i, each in enumerate(messages))
    trace = replace(trace, ranks=(replace(trace.ranks[0], calls=sent), *trace.ranks[1:]))
    assert_images_given(trace, {1: num_examples}, IMAGES)


@pytest.mark.parametrize(
    "sent",
    [
        message(SCALED),
        message(SCALED, "f8"),
        message(IMAGES[:20], "u1"),
        message(IMAGES[:20].transpose(0, 2, 3, 1), "u1"),
        message(np.concatenate([np.zeros(1, "u1"), SCALED.ravel().view("u1")]), "u1"),
        replace(message(START), sampled_num_bytes=-1, num_bytes=SCALED.nbytes),
        replace(message(START), pickled=True, num_bytes=SCALED.nbytes + lenet.MODEL_NUM_BYTES),
    ],
)
def test_images_are_told_in_any_form(sent):
    """Also where they begin at an odd place, are compressed, or smaller than a model beside."""
    assert_served(sent)


@pytest.mark.parametrize(
    "sent", [RANDOM.random(SCALED.shape), START, RANDOM.integers(1, 256, SCALED.size)]
)
def test_other_numbers_are_no_images(sent):
    words = "only 0 bytes of images; at least 61,440"
    with raises("evidence.images_not_given", match=words, kind=NotProven):
        assert_served(message(sent), message(START))

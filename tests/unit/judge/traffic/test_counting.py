"""What envelopes of messages can hold, beside what is in the messages."""

import numpy as np
import pytest

from grader.judge.check_failures import NotProven
from grader.judge.traffic.counting import assert_envelopes_too_small

from ..build import ITEM_NUM_BYTES, Run

LENGTH = 240


def needed(num_ranks):
    return (num_ranks - 1) / num_ranks * LENGTH * ITEM_NUM_BYTES


def ring(num_ranks, messages):
    """Let each rank send its neighbour messages of these (tag, number of elements)."""
    run = Run(num_ranks)
    for rank in range(num_ranks):
        for tag, num_elements in messages:
            run.send(rank, (rank + 1) % num_ranks, tag, num_elements=num_elements)
    return run.trace()


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_arrays_sent_element_by_element_have_small_envelopes(num_ranks):
    """Even where each element goes on its own, with its index as tag, or with a tag that counts."""
    num_hops = 2 * (num_ranks - 1)
    by_index = [(index, 1) for _ in range(num_hops) for index in range(LENGTH // num_ranks)]
    counted = [(number, 1) for number in range(len(by_index))]
    in_one = [(hop, LENGTH // num_ranks) for hop in range(num_hops)]
    for messages in (by_index, counted, in_one, []):
        assert_envelopes_too_small(ring(num_ranks, messages), needed(num_ranks))


@pytest.mark.parametrize("num_bits", [1, 8, 22])
def test_an_array_in_tags_is_not_proven(num_bits):
    """However few bits each of the tags holds: the fewer, the more messages."""
    random = np.random.default_rng(1)
    num_messages = 3 * LENGTH * ITEM_NUM_BYTES * 8 // num_bits
    tags = random.integers(0, 1 << num_bits, num_messages)
    with pytest.raises(NotProven, match="combinations of receiver, tag, and length"):
        assert_envelopes_too_small(ring(4, [(int(tag), 0) for tag in tags]), needed(4))


def test_an_array_in_lengths_is_not_proven():
    """A message of zeros says something by how many there are."""
    lengths = np.random.default_rng(1).integers(0, 256, LENGTH * ITEM_NUM_BYTES)
    with pytest.raises(NotProven, match="can carry"):
        assert_envelopes_too_small(ring(4, [(0, int(each)) for each in lengths]), needed(4))

"""What suites ask of a trace, in one place: the counts, the rules and the volumes."""

from grader.judge.traffic.counting import (
    assert_not_truncated,
    bytes_sent,
    messages,
    messages_sent,
)
from grader.judge.traffic.neighbours import assert_one_neighbour
from grader.judge.traffic.rules import (
    assert_buffers_not_pickles,
    assert_only_nonblocking,
    assert_only_operations,
    assert_only_point_to_point,
    assert_requests_completed,
    assert_uses_collective,
    assert_uses_operations,
)
from grader.judge.traffic.volume import assert_naive_volume, assert_ring_volume

__all__ = [
    "assert_buffers_not_pickles",
    "assert_naive_volume",
    "assert_not_truncated",
    "assert_one_neighbour",
    "assert_only_nonblocking",
    "assert_only_operations",
    "assert_only_point_to_point",
    "assert_requests_completed",
    "assert_ring_volume",
    "assert_uses_collective",
    "assert_uses_operations",
    "bytes_sent",
    "messages",
    "messages_sent",
]

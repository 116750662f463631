"""How much envelopes of messages can say: to whom each goes, with which tag, and how long it is.

Only what is in a message is altered on its way. Data that travel in tags or lengths would not be.
"""

from math import log2

from grader.judge.check_failures import NotProven
from grader.judge.traffic.counting import assert_not_truncated, recorded_sends
from grader.model.finding import found
from grader.trace.calls import Trace


def assert_envelopes_too_small(trace: Trace, needed_num_bytes: float) -> None:
    """Assert that envelopes of messages cannot carry the data that the other ranks need.

    needed_num_bytes: the least that a rank must tell. Who sends an array element by element, with
    the index as tag, is far below it. Raises NotProven.
    """
    assert_not_truncated(trace)
    for rank in range(len(trace.ranks)):
        sent = recorded_sends(trace, rank)
        num_kinds = len(set(sent.keys("peer", "tag", "num_bytes")))
        num_bytes = len(sent) * log2(max(num_kinds, 1)) / 8
        if num_bytes >= needed_num_bytes:
            raise NotProven(
                found(
                    "evidence.envelopes_could_tell",
                    f"rank {rank} sends {len(sent)} messages of {num_kinds} kinds, told apart "
                    f"by receiver, tag and length. The kinds alone can carry {num_bytes:.0f} "
                    f"bytes; {needed_num_bytes:.0f} are enough. The result may not come from "
                    "the messages' content; your instructor reviews this part",
                    rank=rank,
                    num_messages=len(sent),
                )
            )

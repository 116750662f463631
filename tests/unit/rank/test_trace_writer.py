"""Calls that no MPI library makes, as the judge reads them."""

import os

from grader.observe.interposer.memory import TraceMemory
from grader.rank.trace_writer import TraceWriter
from grader.trace import layout


def test_of_calls_that_are_lost_the_last_of_each_function_is_kept():
    """As the interposer keeps them."""
    with TraceMemory.create(16) as memory:
        writer = TraceWriter(os.dup(memory.fd), layout.described(), 0, 1)
        for number in range(3):
            writer.add("all_reduce", ("a.py", number), fields={"phase": 1})
        for number in range(40):
            writer.add("send", ("a.py", number), fields={"phase": 1}, flags=["IS_SEND"])
        trace = memory.read()
        assert trace.truncated
        kept = [(call.function, call.file, call.line) for call in trace.calls]
        sends = [("send", "a.py", number) for number in range(23, 40)]
        assert kept == [("all_reduce", "a.py", 2), *sends]

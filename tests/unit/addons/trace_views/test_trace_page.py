"""The page of `grade trace`: what is told of a case, how much of it, and how safely."""

from dataclasses import replace

import pytest
from unit.judge.build import Run

from grader.model.report import RunFailure, TestResult, Verdict
from grader.report.terminal_page import num_columns
from grader.trace.calls import Trace

from ...report import hostile
from ...report.harmless import assert_no_command
from ...report.traces import DEADLOCK, a_case, exchange, lines_of, traced


def words(lines: list[str]) -> list[list[str]]:
    return [line.split() for line in lines]


def test_the_head_says_which_case_of_which_launch():
    """And which test started it, on what of the course's."""
    shown = traced(exchange().trace())
    assert lines_of(shown)[:3] == [
        "sums, ring, case 2 of 3: length 2",
        "some/folder",
        "launch 1: 2 ranks, started by any_length",
    ]
    stand_in = replace(shown.chosen, stand_in="naive")
    assert "started by any_length, with our naive" in lines_of(replace(shown, chosen=stand_in))[2]


def test_the_figures_come_first():
    """Of ranks and pairs of ranks; those alike in one row."""
    lines = lines_of(traced(exchange(3, num_ranks=4).trace()))
    at = lines.index("rank  calls  sent  bytes  received  bytes")
    assert words(lines[at + 1 : at + 5]) == [
        ["0-3", "9", "3", "24", "3", "24"],
        [],
        ["messages", "bytes", "largest", "from", "->", "to"],
        ["3", "24", "8", "each", "rank", "->", "the", "next"],
    ]
    assert at < lines.index("rank 0: 9 calls, lines of ring.py")


def test_what_a_rank_sends_itself_or_only_probes_is_not_received():
    """Nor sent: the figures are of messages between ranks."""
    run = Run(2)
    run.send(0, 0)
    run.recv(0, 0)
    run.send(1, 0)
    run.call(0, "Mprobe", peer=1, tag=0, matched_source=1, completed_ns=1)
    run.recv(0, 1)
    lines = words(lines_of(traced(run.trace())))
    assert ["rank", "calls", "sent", "bytes", "received", "bytes"] in lines
    assert ["0", "4", "1", "8"] in lines and ["1", "1", "1", "8"] in lines


@pytest.mark.parametrize(
    ("pairs", "text"),
    [
        ([(0, 1)], "0 -> 1"),
        ([(a, b) for a in range(3) for b in range(3) if a != b], "each rank -> every other"),
        ([(1, 0), (2, 1), (0, 2)], "each rank -> the previous one"),
        ([(1, 0), (1, 2)], "1 -> every other"),
        ([(0, 2), (1, 2)], "every other -> 2"),
        ([(0, 2), (2, 0)], "0 -> 2, 2 -> 0"),
    ],
)
def test_pairs_of_ranks_are_told_in_words_where_there_are_any(pairs, text):
    """All of them, a ring, a star; else one by one."""
    run = Run(3)
    for source, destination in pairs:
        run.send(source, destination)
    assert any(line.endswith(f"  {text}") for line in lines_of(traced(run.trace())))


def test_collectives_are_counted_by_name_and_rank():
    """With what the ranks gave to them."""
    run = Run(3)
    for rank in range(3):
        for num_bytes in (80, 16):
            run.call(rank, "Allreduce", num_bytes=num_bytes)
    run.call(0, "Bcast", peer=0, num_bytes=8)
    lines = words(lines_of(traced(run.trace())))
    assert ["Allreduce", "2", "96", "80", "0-2"] in lines
    assert ["Bcast", "1", "8", "8", "0"] in lines


def test_each_call_is_a_row():
    """Number, time, call, peer, tag, bytes, line, and what became of it."""
    run = Run(2)
    sent = run.isend(0, 1, 3, num_elements=200, entered_ns=1_250_000, line=12)
    run.change(0, sent, completed_ns=9_000_000)
    waits = {"waits_for": (sent,), "entered_ns": 1_500_000, "left_ns": 9_000_001}
    run.call(0, "Wait", **waits, line=13)
    lines = lines_of(traced(run.trace()))
    at = lines.index("rank 0: 2 calls, lines of ring.py")
    assert lines[at + 1 : at + 4] == [
        "#    ms  call   peer    tag  bytes  line  state",
        "1  1.25  Isend  to 1    3    1,600  12    done in #2",
        "2  1.50  Wait   for #1              13    done, 7.50 ms",
    ]


def test_a_file_is_named_in_each_row_where_there_are_several():
    """And in the heading where there is one."""
    run = Run(1)
    run.call(0, "Barrier", file="/a/b/one.py", line=1)
    run.call(0, "Barrier", file="/a/b/two.py", line=2)
    text = "\n".join(lines_of(traced(run.trace())))
    assert "one.py:1" in text and "two.py:2" in text and "lines of" not in text


def test_communicators_are_named_where_there_are_several():
    """By letters, which are explained; `world` is COMM_WORLD itself."""
    run = Run(2, communicator=77)
    run.call(0, "Comm_dup")
    assert "comm " not in "\n".join(lines_of(traced(run.trace())))
    run.call(0, "Comm_dup", communicator=0)
    run.call(0, "Comm_dup", communicator=99, communicator_size=1)
    run.call(0, "Type_commit", communicator=-1, communicator_size=0)
    lines = lines_of(traced(run.trace()))
    assert "communicators: A of 2 ranks, B of 1 rank, world of 2 ranks" in lines
    rows = [line.split()[3] for line in lines if "Comm_dup" in line]
    assert rows == ["A", "world", "B"]


def test_of_many_calls_the_first_and_the_last_are_shown():
    """A run ends in its last ones; `--limit 0` shows all."""
    run = Run(1)
    for tag in range(100):
        run.send(0, 0, tag)
    shown = traced(run.trace())
    numbers = [line.split()[0] for line in lines_of(shown, limit=8) if "Send" in line]
    assert numbers == ["1", "2", "3", "4", "5", "6", "99", "100"]
    assert "      ... #7 to #98 left out; --limit 0 shows all" in lines_of(shown, limit=8)
    assert sum("Send" in line for line in lines_of(shown, limit=0)) == 100
    assert "      ... #2 to #100 left out; --limit 0 shows all" in lines_of(shown, limit=1)


def test_a_failure_is_told_in_the_words_of_a_grading():
    """After the calls; a deadlock with a line for each rank."""
    run = exchange()
    run.enter_recv(0, 1, 9)
    lines = lines_of(traced(run.trace(), DEADLOCK))
    at = lines.index("x deadlock")
    assert lines[at + 1 : at + 4] == [
        "  deadlock:",
        "    rank 0 waits in Wait",
        "    cycle 0 -> 1 -> 0",
    ]
    assert any(line.endswith("still waiting") for line in lines[:at])


def test_a_test_names_the_case_that_ended_it_or_says_why():
    """The reason is not told twice."""
    because = TestResult(
        "test_a", "", Verdict.DEADLOCK, 0, 1, f"2 ranks, length 2: {DEADLOCK.message}"
    )
    other = TestResult("test_b", "", Verdict.WRONG_ANSWER, 0, 1, "rank 1 returned 7; expected 8")
    lines = lines_of(traced(exchange().trace(), DEADLOCK, tests=(because, other)))
    at = lines.index("x deadlock a: see case 2")
    assert lines[at + 1 : at + 3] == ["x wrong answer b", "    rank 1 returned 7; expected 8"]


def test_the_other_cases_are_listed_by_launch():
    """With their numbers, their calls, and what ended them."""
    lines = lines_of(traced(exchange().trace()))
    at = lines.index("Other cases (--case NUMBER shows one):")
    assert lines[at + 1 :] == [
        "  case  calls  label     ended by",
        "launch 1: 2 ranks, started by any_length",
        "     1      4  length 1",
        "launch 2: 2 ranks, started by any_length",
        "     3      4  length 3  DEADLOCK",
    ]


@pytest.mark.parametrize(
    ("trace", "num_others", "sentence"),
    [
        (Run(2).trace(), 0, "No rank called MPI or torch.distributed."),
        (
            Run(2).trace(),
            24,
            "No call is relevant to this part's rules; 24 other calls are not shown.",
        ),
        (Trace(()), 0, "No rank called MPI or torch.distributed."),
    ],
)
def test_a_case_without_calls_says_so(trace, num_others, sentence):
    """And whether there were any that are not shown."""
    shown = traced(trace)
    shown = replace(shown, chosen=replace(shown.chosen, num_others=num_others))
    text = " ".join(lines_of(shown))
    assert sentence in text


def test_lost_calls_are_spoken_of():
    """Some of them, or all."""
    run = exchange()
    run.state(1, truncated=True)
    trace = run.trace()
    text = " ".join(lines_of(traced(trace)))
    assert "rank 1: 3 calls, lines of ring.py, further calls were lost" in text
    none = replace(trace, ranks=tuple(replace(seen, calls=()) for seen in trace.ranks))
    assert "too many calls to keep" in " ".join(lines_of(traced(none)))


def test_colour_marks_what_waits():
    """Nothing is said by colour alone."""
    run = exchange()
    run.enter_recv(0, 1, 9)
    lines = lines_of(traced(run.trace()), colour=True)
    (waiting,) = [line for line in lines if "still waiting" in line]
    assert waiting.startswith("\x1b[1;31m")


@pytest.mark.parametrize("text", hostile.TEXTS, ids=range(len(hostile.TEXTS)))
def test_no_text_is_active_or_wider_than_the_page(text):
    """Names, files, labels and sentences may all stem from a submission; so may any number."""
    huge = {"peer": 2**31 - 1, "tag": -(2**31), "num_bytes": 2**63 - 1, "communicator": 2**61}
    run = Run(2)
    run.call(0, text, file=f"/x/{text}.py", made_by=text.replace("\n", "")[:60])
    run.call(0, "Send", is_send=True, entered_ns=2**63 - 1, left_ns=1, **huge)
    run.call(1, "Waitall", waits_for=tuple(range(0, 256, 2)), error=2**31 - 1)
    run.call(1, "Allreduce", num_bytes=2**63 - 1, failed_polls=2**32 - 1)
    failure = RunFailure(Verdict.RUN_TIME_ERROR, text)
    test = TestResult("test_x", text, Verdict.WRONG_ANSWER, 0, 1, text)
    shown = traced(
        run.trace(),
        failure,
        submission=text,
        tests=(test,),
        cases=(a_case(1, label=text, failure=failure),),
        chosen=a_case(2, label=text, failure=failure, num_calls=2**62, trace=run.trace()),
    )
    lines = lines_of(shown)
    assert any("9.2e+18" in line for line in lines)
    for line in lines:
        assert_no_command(line)
        assert num_columns(line) <= 80, line


@pytest.mark.parametrize("width", [20, 60, 80, 100])
def test_lines_fit_the_terminal(width):
    """Of 60 columns and more."""
    for line in lines_of(traced(exchange(3, num_ranks=8).trace()), width=width):
        assert num_columns(line) <= max(width, 60)

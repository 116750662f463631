"""Who sends least: parts with full points, ranked by modelled time and bytes of the same case.

All of it is drawn from the evidence of a report, which ranks have recorded: it is for a race, and
for no mark. Submissions are called by the beginning of their digest, which their authors know.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from grader.evidence import Evidence, Message
from grader.model import PartResult, Report, Verdict
from grader.report.export.marks import has_mark

LATENCY_S = 5e-6
BYTES_PER_S = 1.25e9
"""The network that time is modelled on: 5 microseconds for a message, 10 Gbit/s for each rank."""
_NUM_CHARS = 8
_COLUMNS = ("assignment", "part", "place", "submission", "modelled_us", "num_bytes", "num_messages")


@dataclass(frozen=True, order=True)
class Entry:
    """One submission in the race for one part; less is better, from the first figure on."""

    assignment: str
    part: str
    case: str
    modelled_s: float
    num_bytes: int
    """Of all ranks together."""
    num_messages: int
    submission: str
    """The beginning of its digest."""


def entries(reports: Iterable[Report]) -> list[Entry]:
    """Return the best first for each part and case; a submission is there once for each."""
    return sorted({entry for report in reports if has_mark(report) for entry in _of(report)})


def _of(report: Report) -> Iterator[Entry]:
    for part in report.parts:
        seen = _figures(part)
        if part.verdict is Verdict.ACCEPTED and part.points == part.max_points and seen:
            yield Entry(
                report.assignment,
                part.name,
                seen.case,
                modelled_s(seen.timeline.messages),
                sum(edge.num_bytes for edge in seen.edges),
                sum(edge.num_messages for edge in seen.edges),
                report.submission_digest[:_NUM_CHARS],
            )


def _figures(part: PartResult) -> Evidence | None:
    """Return the first case that shows all of its messages; None where there is none."""
    for test in part.tests:
        seen = test.evidence
        if seen and seen.timeline.messages and not seen.timeline.num_messages_left_out:
            return seen
    return None


def modelled_s(messages: Sequence[Message]) -> float:
    """Return when the last message has arrived on the network of this module, computing nothing.

    A rank sends one message after the other, in the order in which it did, and none before it has
    what it had received until then.
    """
    sends = [(each.sent_ms, 1, index) for index, each in enumerate(messages)]
    receives = [(each.received_ms, 0, index) for index, each in enumerate(messages)]
    has_until: dict[int, float] = {}
    is_sent: dict[int, float] = {}
    for _, is_send, index in sorted(sends + receives):
        each = messages[index]
        if is_send:
            done = has_until.get(each.source, 0.0) + each.num_bytes / BYTES_PER_S
            has_until[each.source] = is_sent[index] = done
        else:
            arrived = is_sent.get(index, 0.0) + LATENCY_S
            has_until[each.destination] = max(has_until.get(each.destination, 0.0), arrived)
    return max(has_until.values(), default=0.0)


def rows(found: Sequence[Entry]) -> list[tuple[str, ...]]:
    """Return a row of texts for each entry; those with equal figures share a place."""
    table: list[tuple[str, ...]] = []
    for index, entry in enumerate(found):
        ahead = [other for other in found[:index] if _race(other) == _race(entry)]
        better = [other for other in ahead if _score(other) < _score(entry)]
        table.append(
            (
                entry.assignment,
                entry.part,
                str(len(better) + 1),
                entry.submission,
                f"{entry.modelled_s * 1e6:.1f}",
                str(entry.num_bytes),
                str(entry.num_messages),
                entry.case,
            )
        )
    return table


def render_csv(found: Sequence[Entry]) -> str:
    """Return the table as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([(*_COLUMNS, "case"), *rows(found)])
    return text.getvalue().rstrip("\n")


def render_markdown(found: Sequence[Entry]) -> str:
    """Return the table as Markdown."""
    lines = [(*_COLUMNS, "case"), ("---",) * (len(_COLUMNS) + 1), *rows(found)]
    return "\n".join(f"| {' | '.join(cell.replace('|', ' ') for cell in line)} |" for line in lines)


def _race(entry: Entry) -> tuple[str, str, str]:
    return entry.assignment, entry.part, entry.case


def _score(entry: Entry) -> tuple[float, int, int]:
    return entry.modelled_s, entry.num_bytes, entry.num_messages

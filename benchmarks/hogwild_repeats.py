"""Hogwild graded again and again while all cores are busy: never two verdicts for one submission.

    python benchmarks/hogwild_repeats.py [TIMES]      (default: 30)

The reference must get full marks each time; a version with a lock around the step and one whose
weights are not shared must fail each time. Ends with status 1 if one did not.
"""

import sys
import time
from collections import Counter
from pathlib import Path

from acceptance import keep_cores_busy

from grader import observing, pipeline
from grader.model import Verdict
from grader.runner.fork_server import ForkServer
from grader.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
SUBMISSIONS = ROOT / "tests" / "submissions"
GRADED = (
    ROOT / "reference" / "psgd_hogwild",
    SUBMISSIONS / "rule_violation" / "psgd_hogwild" / "hogwild_lock_around_the_step",
    SUBMISSIONS / "wrong_answer" / "psgd_hogwild" / "hogwild_without_share_memory",
)


def main() -> None:
    """Grade each of them TIMES times and count the verdicts."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    right = True
    busy = keep_cores_busy()
    try:
        with ForkServer(["torch"]) as server:
            settings = Settings(launch=observing.launcher(server))
            for folder in GRADED:
                started_s = time.monotonic()
                found: Counter[str] = Counter()
                for _ in range(times):
                    report = pipeline.grade(
                        folder, assignment="psgd_hogwild", parts=["hogwild"], settings=settings
                    )
                    (part,) = report.parts
                    found[f"{part.verdict.value} {part.points:g}/{part.max_points:g}"] += 1
                    is_accepted = part.verdict is Verdict.ACCEPTED
                    right = right and is_accepted == (folder is GRADED[0])
                took_s = (time.monotonic() - started_s) / times
                told = ", ".join(f"{number} times {words}" for words, number in found.items())
                print(f"{folder.relative_to(ROOT)}: {told}; {took_s:.1f} s each", flush=True)
    finally:
        for process in busy:
            process.kill()
            process.join()
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()

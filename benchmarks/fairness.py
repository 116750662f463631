"""What a fair person pays for one bug, and what we pay: writes docs/generated/fairness.md.

    python benchmarks/fairness.py [REPORT.xml]

REPORT.xml: what `pytest tests/test_submissions.py --junitxml REPORT.xml` wrote. Without it every
labelled submission with a `fair_share` is graded here, which takes long.
"""

import sys
import tomllib
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from xml.etree import ElementTree

import numpy as np

from grader.course.courses import bundled
from grader.grading import observing, pipeline
from grader.grading.settings import Settings
from grader.judge.explanation.launch_result import explaining
from grader.model.points import written
from grader.observe.run_control.forkserver_client import ForkserverClient

ROOT = Path(__file__).resolve().parents[1]
SUBMISSIONS = ROOT / "tests" / "submissions"
PAGE = ROOT / "docs" / "generated" / "fairness.md"
HEAD = """\
# Single bugs: what a fair person pays, and what we pay

*For instructors: a reference.*

Every labelled submission with one bug, as a share of its part. What a fair person pays was decided
from the handout before anything was graded ([pricing](../pricing.md)).
"""


@dataclass(frozen=True)
class Priced:
    """One submission with one bug."""

    assignment: str
    part: str
    name: str
    about: str
    fair_share: float
    points: float
    max_points: float

    @property
    def share(self) -> float:
        """Return what we pay, as a share of the part."""
        return self.points / self.max_points

    @property
    def difference(self) -> float:
        """Return by how much we pay more (or, below zero, less) than a fair person."""
        return self.share - self.fair_share


def main() -> None:
    """Take or grade all, print each, write the page."""
    paid = _paid(Path(sys.argv[1])) if sys.argv[1:] else None
    priced = []
    with ExitStack() as stack:
        servers: dict[tuple[str, ...], ForkserverClient] = {}
        for file in sorted(SUBMISSIONS.glob("*/*/*/expected.toml")):
            label = tomllib.loads(file.read_text())
            name = file.parent.relative_to(SUBMISSIONS).as_posix()
            if "fair_share" not in label:
                continue
            if paid is not None and name not in paid:
                if label.get("slow"):
                    continue
                raise SystemExit(
                    f"{sys.argv[1]} has nothing of {name}, expected all labelled submissions "
                    "but the slow ones: write it with `make test`"
                )
            if paid is not None:
                points, max_points = paid[name]
            else:
                needs = bundled().load(file.parts[-3]).needs
                if needs not in servers:
                    servers[needs] = stack.enter_context(ForkserverClient(needs))
                points, max_points = _graded(file.parent, label["part"], servers[needs])
            if max_points:
                priced.append(
                    Priced(
                        assignment=file.parts[-3],
                        part=label["part"],
                        name=file.parts[-2],
                        about=label["about"],
                        fair_share=label["fair_share"],
                        points=points,
                        max_points=max_points,
                    )
                )
                print(f"{priced[-1].difference:+.2f} {name}", flush=True)
    print(_summary(priced))
    PAGE.write_text(_page(priced))


def _paid(report: Path) -> dict[str, tuple[float, float]]:
    """Return points and maximum of each submission in a JUnit report of our own tests."""
    paid = {}
    for case in ElementTree.parse(report).iter("testcase"):  # noqa: S314 - written by our tests
        found = {each.get("name"): str(each.get("value")) for each in case.iter("property")}
        if "submission" in found:
            paid[found["submission"]] = (float(found["points"]), float(found["max_points"]))
    return paid


def _graded(folder: Path, part: str, server: ForkserverClient) -> tuple[float, float]:
    """Return the points and the maximum of the part that a submission was written for."""
    report = pipeline.grade(
        folder,
        assignment=folder.parent.name,
        parts=[part],
        settings=Settings(launch=explaining(observing.observer(server))),
    )
    (result,) = report.parts
    return result.points, result.max_points


def _page(priced: Sequence[Priced]) -> str:
    lines = [HEAD, _summary(priced)]
    parts = dict.fromkeys((each.assignment, each.part) for each in priced)
    for assignment, part in sorted(parts):
        lines += [f"## {assignment}: {part}\n", "| bug | fair | paid | difference | points |"]
        lines.append("|---|---:|---:|---:|---:|")
        for each in priced:
            if (each.assignment, each.part) == (assignment, part):
                points = f"{written(each.points)} of {written(each.max_points)}"
                more = round(each.difference, 2) + 0  # no -0%
                shares = f"{each.fair_share:.0%} | {each.share:.0%} | {more:+.0%}"
                lines.append(f"| `{each.name}`: {each.about} | {shares} | {points} |")
        lines.append("")
    return "\n".join(lines)


def _summary(priced: Sequence[Priced]) -> str:
    differences = [abs(each.difference) for each in priced]
    related = np.corrcoef(
        _ranks([each.fair_share for each in priced]), _ranks([each.share for each in priced])
    )[0, 1]
    return (
        f"{len(priced)} submissions; mean difference {mean(differences):.1%} of the part, greatest "
        f"{max(differences):.1%}; rank correlation {related:.2f}.\n"
    )


def _ranks(values: Sequence[float]) -> np.ndarray:
    """Return the place of each value in their order; equal values share the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (counts.cumsum() - (counts - 1) / 2)[place]


if __name__ == "__main__":
    main()

"""What a fair person pays for one bug, and what we pay: writes docs/fairness.md.

    python benchmarks/fairness.py [NAME...]

Grades every labelled submission with a `fair_share`, the part it was written for. With NAMEs only
those in folders so called, and the page is not written.
"""

import sys
import tomllib
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean

from scipy.stats import spearmanr

from grader import assignment as assignments
from grader import pipeline
from grader.points import written
from grader.runner.fork_server import ForkServer
from grader.runner.launch import launch
from grader.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "fairness.md"
HEAD = """\
# Single bugs: what a fair person pays, and what we pay

Every labelled submission with one bug, as a share of its part. What a fair person pays was decided
from the handout before anything was graded ([pricing.md](pricing.md)). `benchmarks/fairness.py`
writes this page.
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
    """Grade all, print each, write the page."""
    names = set(sys.argv[1:])
    priced = []
    with ExitStack() as stack:
        servers: dict[tuple[str, ...], ForkServer] = {}
        for file in sorted((ROOT / "tests" / "submissions").glob("*/*/*/expected.toml")):
            label = tomllib.loads(file.read_text())
            if "fair_share" not in label or (names and not names & set(file.parts)):
                continue
            needs = assignments.load(file.parts[-3], ROOT / "tests" / "suites").needs
            if needs not in servers:
                servers[needs] = stack.enter_context(ForkServer(needs))
            found = _graded(file.parent, label, servers[needs])
            priced += [found] if found.max_points else []
            print(f"{found.difference:+.2f} {found.assignment}/{found.name}", flush=True)
    print(_summary(priced))
    if not names:
        PAGE.write_text(_page(priced))


def _graded(folder: Path, label: dict[str, object], server: ForkServer) -> Priced:
    report = pipeline.grade(
        folder,
        assignment=folder.parent.name,
        parts=[str(label["part"])],
        settings=Settings(launch=partial(launch, server=server)),
    )
    (part,) = report.parts
    return Priced(
        assignment=report.assignment,
        part=part.name,
        name=folder.name,
        about=str(label["about"]),
        fair_share=float(str(label["fair_share"])),
        points=part.points,
        max_points=part.max_points,
    )


def _page(priced: Sequence[Priced]) -> str:
    lines = [HEAD, _summary(priced)]
    parts = dict.fromkeys((each.assignment, each.part) for each in priced)
    for assignment, part in sorted(parts):
        lines += [f"## {assignment}: {part}\n", "| bug | fair | paid | points |"]
        lines.append("|---|---:|---:|---:|")
        for each in priced:
            if (each.assignment, each.part) == (assignment, part):
                points = f"{written(each.points)} of {written(each.max_points)}"
                shares = f"{each.fair_share:.0%} | {each.share:.0%}"
                lines.append(f"| `{each.name}`: {each.about} | {shares} | {points} |")
        lines.append("")
    return "\n".join(lines)


def _summary(priced: Sequence[Priced]) -> str:
    differences = [abs(each.difference) for each in priced]
    related = spearmanr(
        [each.fair_share for each in priced], [each.share for each in priced]
    ).statistic
    return (
        f"{len(priced)} submissions; mean difference {mean(differences):.1%} of the part, greatest "
        f"{max(differences):.1%}; rank correlation {related:.2f}.\n"
    )


if __name__ == "__main__":
    main()

"""What the launches of a part have taken: so long, and no longer, does it start ranks.

What the judge itself takes is not in it. That the judge moves is watched from outside, and is never
a submission's fault.
"""

from dataclasses import dataclass, field

from grader.judge.explanation.launch_result import LaunchResult
from grader.model.finding import found
from grader.model.report import RunFailure, Verdict


@dataclass
class PartTime:
    """The time of one part, by the clock."""

    limit_s: float
    used_s: dict[str, float] = field(default_factory=dict)
    """By the test that asked for the ranks first, in words."""
    starved_s: float = 0.0
    """Of launches that the machine gave too little: nothing that the submission did."""

    @property
    def left_s(self) -> float:
        """Return what further launches may take."""
        return self.limit_s - sum(self.used_s.values()) - self.starved_s

    def charge(self, launched: LaunchResult, test: str) -> None:
        """Count a launch that a test has asked for."""
        failure, wall_time_s = launched.failure, launched.wall_time_s
        if failure is not None and failure.verdict is Verdict.JUDGE_ERROR:
            self.starved_s += wall_time_s
        else:
            self.used_s[test] = self.used_s.get(test, 0.0) + wall_time_s

    def out_of_time(self) -> RunFailure | None:
        """Return what becomes of further cases, where no time is left for them."""
        if self.left_s > 0:
            return None
        if sum(self.used_s.values()) < self.starved_s:
            return RunFailure.of(
                Verdict.JUDGE_ERROR,
                found(
                    "grader.busy_machine",
                    f"the machine was so busy that failed runs took {self.starved_s:.0f} of "
                    f"the {self.limit_s:g} s that a part may take",
                    help="grade again when the machine is idle",
                ),
            )
        test = max(self.used_s, key=lambda each: self.used_s[each])
        return RunFailure.of(
            Verdict.TIME_LIMIT_EXCEEDED,
            found(
                "limit.time_of_part",
                f"the checks before this one took {self.limit_s:g} s, all that a part may "
                f"take; {self.used_s[test]:.0f} s of it went to: {test}",
            ),
        )

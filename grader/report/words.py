"""Verdicts in the words of a reader."""

from grader.model.report import Verdict

VERDICT_WORDS = {
    Verdict.ACCEPTED: "passed",
    Verdict.WRONG_ANSWER: "wrong answer",
    Verdict.RULE_VIOLATION: "rule broken",
    Verdict.DEADLOCK: "deadlock",
    Verdict.RUN_TIME_ERROR: "crash",
    Verdict.TIME_LIMIT_EXCEEDED: "time limit",
    Verdict.MEMORY_LIMIT_EXCEEDED: "memory limit",
    Verdict.OUTPUT_LIMIT_EXCEEDED: "output limit",
    Verdict.NOT_ATTEMPTED: "not written",
    Verdict.SKIPPED: "not run",
    Verdict.NOT_PROVEN: "not proven",
    Verdict.JUDGE_ERROR: "grader failed",
}
NOT_HANDED_IN = "not handed in"

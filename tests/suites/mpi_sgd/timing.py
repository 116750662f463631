"""Compares wall times of the student's calls with those of a yardstick, on the judge's clock."""

from collections.abc import Callable
from typing import Any

from grader.judge.budgets import assert_within_budget, compare_times
from grader.model import Outcome
from grader.suite.launch_view import Launch

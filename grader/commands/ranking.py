"""The command that ranks submissions by what they send: leaderboard."""

import argparse

from grader.report import leaderboard
from grader.report.saved import saved


def show_leaderboard(options: argparse.Namespace) -> int:
    """Print the table; return 0, also where nobody has full points."""
    found = leaderboard.entries(map(saved, options.reports))
    if options.part is not None:
        found = [entry for entry in found if entry.part == options.part]
    print(leaderboard.render_markdown(found) if options.markdown else leaderboard.render_csv(found))
    return 0

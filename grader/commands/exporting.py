"""The command that writes a saved report for a platform: export."""

import argparse

from grader.errors import GraderError
from grader.report.export import formats
from grader.report.files import require_writable, unwritten
from grader.report.saved import saved


def export(options: argparse.Namespace) -> int:
    """Write a report that --json has saved; return 0, whatever its mark."""
    chosen = formats.named(options.format)
    require_writable([options.file])
    text = chosen.render(saved(options.report), is_full=options.show_hidden)
    if options.file is None:
        print(text)
        return 0
    problem = unwritten(options.file, text)
    if problem:
        raise GraderError(problem)
    return 0

"""The command that writes a saved report for a platform: export."""

import argparse

from grader.model.errors import GraderError
from grader.report.export import formats
from grader.report.files import remains, require_writable, saved, unwritten


def export(options: argparse.Namespace) -> int:
    """Write a report that --json has saved; return 0, whatever its mark."""
    chosen = formats.named(options.format)
    require_writable([options.file])
    report = saved(options.report)
    try:
        text = chosen.render(report, is_full=options.show_hidden)
    except GraderError as error:
        raise GraderError(f"{error}{remains(options.file) if options.file else ''}") from None
    if options.file is None:
        print(text)
        return 0
    problem = unwritten(options.file, text)
    if problem:
        raise GraderError(problem)
    return 0

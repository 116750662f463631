"""The report as one web page that needs nothing else: no network, no script."""

from grader.report.html.page import render

__all__ = ["render"]

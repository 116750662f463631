"""Writes the report as one web page that needs no network, script, or other file."""

from grader.report.html.page import render

__all__ = ["render"]

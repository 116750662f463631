"""Suites of the assignment example."""

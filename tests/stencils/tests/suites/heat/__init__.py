"""Suites of the assignment heat."""

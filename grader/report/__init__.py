"""Writes what a grading found: one exporter per file, each a pure function that returns text.

Every text of a report may stem from a submission, so every exporter makes it safe for its format.
"""

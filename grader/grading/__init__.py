"""Turns a submission into a report."""

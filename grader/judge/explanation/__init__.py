"""Turns the facts of a launch into the outcome of each case, or into the reason for none."""

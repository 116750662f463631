"""Runs the tests of a suite openly in every rank, for debugging and without a mark."""

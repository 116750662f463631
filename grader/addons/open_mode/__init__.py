"""Runs the tests of a suite openly in every rank, to debug with: no mark comes of it."""

"""Reads a hand-in, in its own process that can do little else."""

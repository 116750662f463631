"""Reads what was handed in, in a process of its own that can do little else."""

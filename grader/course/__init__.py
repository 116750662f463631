"""Reads what authors wrote: courses and assignments, their data and their secret."""

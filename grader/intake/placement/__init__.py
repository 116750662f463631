"""Decides which file of a hand-in is graded as which file of an assignment, and why."""

"""Starts the ranks, talks to them, watches them from outside, and leaves nothing of them behind."""

"""Counts the calls and messages of a trace, and checks rules about them."""

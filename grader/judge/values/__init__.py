"""Compares what ranks returned with what was expected."""

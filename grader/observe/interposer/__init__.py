"""Builds the C library that records every call, and reads what it has written."""

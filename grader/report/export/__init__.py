"""Writes a report in the format of another platform; docs/platforms.md says how to set it up."""

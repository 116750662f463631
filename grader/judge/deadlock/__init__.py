"""Finds which rank waits for which, and says so in sentences."""

"""Grades in a container, after a selftest of that container."""

"""Sealed grading from outside: a container starts, a submission goes in, a report comes out."""

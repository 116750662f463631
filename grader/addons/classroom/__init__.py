"""Grades a whole class: reads hand-ins, grades in parallel, applies rules, and returns marks."""

"""What a grading found, for those who read it: one exporter per file, each a pure function to text.

Every text of a report may stem from a submission, so every exporter makes it safe for its format.
"""

"""The environment variables by which one of our processes tells another what to do."""

RANKS_FOLDER = "GRADER_RANKS"
"""Names the folder shared with the container of the ranks, where they have one of their own."""

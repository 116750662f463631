"""A grading in a container, and what is tried there before it is trusted."""

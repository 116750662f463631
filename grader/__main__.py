"""Lets `python -m grader` do what `grade` does."""

from grader.cli import main

main()

"""The process that ranks are forked from: has imported the big packages, never runs student code.

A program of its own, so that it holds nothing of the judge's; imports nothing of grader.
"""

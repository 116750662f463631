"""The untrusted side, around the student's code in each rank. Imports nothing of grader."""

"""The untrusted side: what runs in each rank around the student's code. Imports nothing of grader."""

raise SystemExit("BREACH grader_rank.py of the submission is imported")

raise SystemExit("BREACH numpy.py of the submission is imported")

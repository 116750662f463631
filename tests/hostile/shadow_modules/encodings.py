raise SystemExit("BREACH encodings.py of the submission is imported")

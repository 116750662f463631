raise SystemExit("BREACH json.py of the submission is imported")

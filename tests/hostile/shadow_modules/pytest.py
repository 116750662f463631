raise SystemExit("BREACH pytest.py of the submission is imported")

raise SystemExit("BREACH socket.py of the submission is imported")

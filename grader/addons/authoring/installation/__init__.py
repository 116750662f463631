"""What students of a course install: the engine and their edition of the course, locked by hash."""

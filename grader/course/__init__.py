"""What authors have written: courses and assignments, their data and their secret."""

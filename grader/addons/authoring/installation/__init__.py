"""Writes the installation for students: the engine and their course edition, locked by hash."""

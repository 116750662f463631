"""Parses the command line of `grade`, and holds its commands, one module for each kind."""

"""Runs sealed gradings from outside: starts a container, passes a submission, gets a report."""

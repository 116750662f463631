"""The pytest plugin that runs a suite: cases become launches, exceptions verdicts."""

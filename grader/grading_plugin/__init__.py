"""The pytest plugin that runs a suite: turns cases into launches, and exceptions into verdicts."""

"""What did the ranks do? Starts them, watches them, and reports only facts."""

"""What did the ranks do? Starts them, watches them, and says facts alone."""

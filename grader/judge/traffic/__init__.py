"""What a trace holds, counted, and the rules about it."""

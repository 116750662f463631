"""What a trace holds, counted, and the rules over it."""

"""Shows what the ranks of a case called: as text, as JSON, and as a timeline."""

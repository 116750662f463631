"""Shows what the ranks of a case have called: as text, as JSON, as a timeline."""

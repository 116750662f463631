"""Who waits for whom, and the sentences about it."""

"""Read by anybody, so that the hand-in is not empty."""

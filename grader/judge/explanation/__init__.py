"""What the facts of a launch come to: the outcome of each case, or why there is none."""

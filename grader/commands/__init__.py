"""Commands of `grade` besides grading itself, one module for each kind."""

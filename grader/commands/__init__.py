"""Commands of `grade` beside grading itself, a module each kind."""

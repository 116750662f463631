"""Commands for authors of assignments: new, template, list, build, and verify."""

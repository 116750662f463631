"""A report in the file that another platform reads; docs/platforms.md says how each is set up."""

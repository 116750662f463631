"""Commands that the core can do without, and never imports."""

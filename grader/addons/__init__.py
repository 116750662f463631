"""Optional commands, which the core never imports."""

"""What the core does without: commands of their own, which it never imports."""

"""What an instructor uses to write an assignment: templates made from the reference."""

"""What ranks returned, compared with what was expected."""

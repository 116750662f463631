"""A submission goes in, a report comes out."""

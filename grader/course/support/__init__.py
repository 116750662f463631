"""Files that several assignments give their students; assignment.toml names them as support."""

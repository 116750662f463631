"""The nouns that all packages share, and the errors."""

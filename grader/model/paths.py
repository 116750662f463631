"""Paths of files as text, with slashes: what lies above one, and which comes first."""


def folders_above(path: str) -> list[str]:
    """Return the folders above a path, the outermost first."""
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def nearness(path: str) -> tuple[int, str]:
    """Return the key that sorts paths: fewest folders above first, then by name."""
    return path.count("/"), path

"""A number and its noun, which is in the plural unless the number is 1."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return `1 rank`, `3 ranks`; plural: of a noun that takes more than an s."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"

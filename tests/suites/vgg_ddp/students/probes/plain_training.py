"""In place of the course's yardstick, which is a solution: only the course compares times."""


def train_plainly(student, comm, **data):
    """Train nothing."""
    return {}

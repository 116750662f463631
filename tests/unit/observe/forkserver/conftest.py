"""What tests of the forkserver share."""

import tempfile
from pathlib import Path

import pytest


@pytest.fixture
def open_to_all():
    """Return a folder that every user reaches: those of pytest are closed by the next session."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)

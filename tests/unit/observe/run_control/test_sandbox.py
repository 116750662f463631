"""What a run's folder holds before the ranks start."""

import pytest

from grader.observe.run_control.forkserver_client import ForkserverClient
from grader.observe.run_control.sandbox import Sandbox
from grader.recording.launch_plan import Limits


@pytest.fixture
def sandbox():
    with ForkserverClient(()) as server, Sandbox(server, uid=None, limits=Limits()) as made:
        yield made


def test_no_file_tells_whether_it_was_read(sandbox):
    """The kernel notes it where the time of the last reading is the earlier one."""
    sandbox.fill(submission={"a/work.py": b"a"}, support={"data.npy": b"b"})
    paths = [sandbox.submission, *sandbox.submission.rglob("*")]
    paths.append(sandbox.folder / "support" / "data.npy")
    before = [path.stat().st_atime_ns for path in paths]
    for path in paths:
        list(path.iterdir()) if path.is_dir() else path.read_bytes()
    assert [path.stat().st_atime_ns for path in paths] == before

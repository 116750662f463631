"""Whose code is opened, by whatever program, is what the kernel says."""

import resource
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from grader.zygote import opened_packages
from grader.zygote.opened_packages import OpenedPackages

LIMIT_S = 60.0
MOST_EVENTS = Path("/proc/sys/fs/inotify/max_queued_events")
NAMES = ("first_package", "second_package", "package_that_nobody_has")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return where two packages lie, each with code and data below it."""
    for name in NAMES[:2]:
        below = tmp_path / name / "deep" / "deeper"
        below.mkdir(parents=True)
        (tmp_path / name / "__init__.py").write_text("")
        (below / "fast.so").write_text("")
        (below / "data.csv").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.fixture
def opened(folder):
    """Return what watches both, and asks for one that is not there."""
    with closing(OpenedPackages(NAMES)) as opened:
        yield opened


def test_an_import_in_another_program_is_seen_once(opened, folder):
    """It need not be a Python that anybody has prepared."""
    assert opened.drain() == []
    program = f"import sys; sys.path.insert(0, {str(folder)!r}); import second_package"
    subprocess.run([sys.executable, "-I", "-S", "-c", program], check=True, timeout=LIMIT_S)
    assert opened.drain() == ["second_package"]
    assert opened.drain() == []


def test_code_anywhere_in_a_package_is_seen(opened, folder):
    """Compiled code may be loaded without the package around it, and by any path."""
    (folder / "first_package" / "deep" / ".." / "deep" / "deeper" / "fast.so").read_bytes()
    assert opened.drain() == ["first_package"]


def test_looking_around_is_no_opening(opened, folder):
    """Of one package the digits are read; folders may be listed, and files looked at."""
    below = folder / "first_package" / "deep" / "deeper"
    (below / "data.csv").read_bytes()
    assert sorted(path.name for path in below.iterdir()) == ["data.csv", "fast.so"]
    assert (below / "fast.so").stat().st_size == 0
    assert opened.drain() == []


def test_more_than_the_kernel_remembers_is_everything(opened, folder):
    """Else whoever opens enough could open anything after it."""
    data = folder / "first_package" / "deep" / "deeper" / "data.csv"
    code = data.with_name("fast.so")
    for _ in range(int(MOST_EVENTS.read_text()) // 2 + 1):
        data.read_bytes()
        code.read_bytes()
    assert opened.drain() == ["first_package", "second_package"]


def test_who_goes_on_opening_is_not_waited_for(opened, folder, monkeypatch):
    """What is told is what has happened until then: the zygote has more to do."""
    code, real, seen = folder / "first_package" / "__init__.py", opened_packages._events_in, []

    def while_more_is_opened(events):
        for event in real(events):
            seen.append(event)
            assert len(seen) <= 2
            code.read_bytes()
            yield event

    assert opened.drain() == []  # of folders that were looked through
    monkeypatch.setattr(opened_packages, "_events_in", while_more_is_opened)
    code.read_bytes()
    for number in (1, 2):
        assert opened.drain() == ["first_package"]
        assert len(seen) == number


@pytest.mark.parametrize("folders", [["/folder/that/is/not/there"], None])
def test_where_the_kernel_watches_no_more_nobody_looks(monkeypatch, folders):
    """Others share its limits: a grading does not fail for them, and holds nothing open."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    open_before = len([*Path("/proc/self/fd").iterdir()])
    if folders is None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
    else:
        monkeypatch.setattr(opened_packages, "_folders_of", lambda _: folders)
    try:
        with pytest.raises(OSError, match=r"No such file|Too many open files"):
            OpenedPackages(NAMES)
        assert OpenedPackages.where_possible(NAMES) is None
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert len([*Path("/proc/self/fd").iterdir()]) == open_before


def test_no_package_is_no_question(folder):
    """Most runs ask for none, and need not watch anything."""
    assert OpenedPackages.where_possible([]) is None
    with closing(OpenedPackages.where_possible(NAMES)) as opened:
        assert opened.drain() == []

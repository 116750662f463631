"""Landlock leaves a process the files it is told of, and no others."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.observe.forkserver import confinement, landlock

pytestmark = pytest.mark.skipif(landlock.version() == 0, reason="this kernel has no Landlock")


@pytest.fixture
def run(tmp_path):
    """Return the folder of a run with two ranks, and something that both are given."""
    run = tmp_path / "run"
    for name in ("rank-0", "rank-1", "given"):
        (run / name).mkdir(parents=True)
        (run / name / "file").write_text("of " + name)
    return run


def tried(run: Path, act: Callable[[], object]) -> str:
    """Return what comes of an act in a process restricted to rank 0's files."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        with os.fdopen(reader) as told:
            said = told.read()
        os.waitpid(pid, 0)
        return said
    try:
        confinement._set(confinement._PR_SET_NO_NEW_PRIVS, 1)
        landlock.restrict(
            readable=[*landlock.beside(run), run / "given", Path("/proc")],
            devices=[Path("/dev/null")],
            own=[run / "rank-0"],
        )
        said = str(act())
    except BaseException as error:
        said = type(error).__name__
    finally:
        os.write(writer, said.encode())
        os._exit(0)


@pytest.mark.parametrize(
    ("name", "text"),
    [("rank-0", "of rank-0"), ("given", "of given"), ("rank-1", "PermissionError")],
)
def test_a_file_is_read_by_whom_it_is_given(run, name, text):
    assert tried(run, (run / name / "file").read_text) == text


def test_all_is_allowed_in_the_own_folder(run):
    def act():
        folder = run / "rank-0" / "new"
        folder.mkdir()
        (folder / "a").write_text("a")
        (folder / "a").rename(folder / "b")
        (folder / "b").write_text("b")
        (folder / "b").unlink()
        folder.rmdir()
        return [each.name for each in (run / "rank-0").iterdir()]

    assert tried(run, act) == "['file']"


@pytest.mark.parametrize(
    "act",
    [
        lambda run: (run / "given" / "file").write_text("x"),
        lambda run: (run / "given" / "new").touch(),
        lambda run: (run / "rank-1" / "new").touch(),
        lambda run: (run / "new").mkdir(),
        lambda run: os.mkfifo(run / "given" / "pipe"),
        lambda run: (run / "given" / "file").unlink(),
        lambda run: list((run / "rank-1").iterdir()),
        lambda run: list(run.iterdir()),
        lambda run: os.link(run / "given" / "file", run / "rank-0" / "link"),
        lambda run: (run.parent / "beside").touch(),
        lambda run: os.kill(os.getppid(), 0),
        lambda run: os.kill(os.getppid(), signal.SIGCONT),
    ],
)
def test_nothing_is_told_to_anybody_else(run, act):
    # OSError: a link between two folders, as from one file system to another.
    assert tried(run, lambda: act(run)) in ("PermissionError", "OSError")


def test_the_rest_of_the_machine_can_be_read(run):
    assert (
        tried(run, lambda: Path(os.__file__).read_text()[:3]) == Path(os.__file__).read_text()[:3]
    )
    assert tried(run, lambda: Path("/dev/null").write_text("x")) == "1"


def test_what_leads_to_a_folder_is_not_beside_it(tmp_path):
    (tmp_path / "other").mkdir()
    beside = set(landlock.beside(tmp_path / "run"))
    assert Path("/usr") in beside
    assert not beside & {*(tmp_path / "run").parents, tmp_path / "run", tmp_path / "other"}


def test_children_are_restricted_as_well(run):
    def act():
        reader, writer = os.pipe()
        if os.fork() == 0:
            try:
                (run / "rank-1" / "file").read_text()
            except OSError as error:
                os.write(writer, type(error).__name__.encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as told:
            return told.read()

    assert tried(run, act) == "PermissionError"

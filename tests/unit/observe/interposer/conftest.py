"""The interposer, built once for all tests here, and a way to run programs under it."""

import itertools

import pytest

from grader.observe.interposer import build

from .launch import Launch


@pytest.fixture(scope="session")
def interposer(tmp_path_factory):
    """The library, made by the compiler of this machine."""
    target = tmp_path_factory.mktemp("interposer") / "interposer.so"
    build.build(target)
    return target


@pytest.fixture
def launch(tmp_path, interposer):
    """Return a context manager: `launch(program, ranks)` starts a program."""
    numbers = itertools.count()

    def start(program, ranks, **options):
        folder = tmp_path / f"launch-{next(numbers)}"
        folder.mkdir()
        return Launch(folder, interposer, program, ranks, **options)

    return start

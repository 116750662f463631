"""A run's own folder and processes: made before the ranks start, and nothing left of them after."""

import os
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from grader.model.paths import folders_above, nearness
from grader.observe.run_control.forkserver_client import ForkserverClient
from grader.observe.run_control.machine import mpirun_command, rank_environment
from grader.recording.launch_plan import Limits

_PLACEHOLDER = Path(__file__).resolve().parent / "mpirun_placeholder.py"


class Sandbox:
    """The folder and the processes of one run. Use as a context manager."""

    def __init__(self, server: ForkserverClient, *, uid: int | None, limits: Limits) -> None:
        """uid: the user to run as, which nobody else may have; None to stay the user we are."""
        self.server = server
        self._uid = uid
        self._limits = limits
        self._started = False
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

    @property
    def submission(self) -> Path:
        """Return the folder of the submission, as the ranks see it."""
        return self.folder / "submission"

    def fill(self, *, submission: Mapping[str, bytes], support: Mapping[str, bytes]) -> None:
        """Lay out what the ranks may read: the support files and the submission."""
        for name, files in (("submission", submission), ("support", support)):
            (self.folder / name).mkdir()
            for file, content in files.items():
                target = self.folder / name / file
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
        # A level of its own, because our folder cannot be listed.
        (self.folder / "start").mkdir()
        shutil.copyfile(_PLACEHOLDER, self._placeholder)
        for path in self.folder.rglob("*"):
            if path.name != "scratch":
                path.chmod(0o755 if path.is_dir() else 0o644)

    def start(
        self,
        ranks: int,
        probes: Mapping[str, str],
        *,
        under_mpirun: bool,
    ) -> None:
        """Start the ranks, which will connect to our socket.

        probes: what they will be told to run, so that it is compiled once for all of them.
        Raises GraderError when the machine cannot.
        """
        self.server.start(
            {
                "folder": str(self.folder),
                "uid": self._uid,
                "ranks": ranks,
                "memory_num_bytes": self._limits.memory_num_bytes,
                "rank_memory_num_bytes": self._limits.rank_memory_num_bytes,
                "output_num_bytes": self._limits.output_num_bytes,
                "probes": dict(probes),
                "mpirun": self._mpirun(ranks) if under_mpirun else None,
                "environment": self._environment(),
            }
        )
        self._started = True

    def _mpirun(self, ranks: int) -> list[str]:
        scratch = self.folder / "scratch"
        options = {
            "pml": "ob1,monitoring",
            # MPI counts messages itself; what counts collective and one-sided calls crashes some
            # programs.
            "pml_monitoring_enable": "2",
            "coll": "^monitoring",
            "osc": "^monitoring",
            # Made by the ranks: see the forkserver's student_confinement.
            "btl_sm_backing_directory": str(scratch / "segments"),
            "osc_sm_backing_directory": str(scratch / "windows"),
            "osc_rdma_backing_directory": str(scratch / "windows"),
        }
        command = mpirun_command(ranks, scratch, options)
        socket = str(self.folder / "placeholders.sock")
        return [*command, sys.executable, "-I", "-S", str(self._placeholder), socket]

    def _environment(self) -> dict[str, str]:
        scratch = self.folder / "scratch"
        return {
            **rank_environment(scratch),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"]),
            "HOME": str(scratch),
            "LANG": "C.UTF-8",
            # Also in processes that a rank starts: see the rank's remarks.
            "PYTHONBREAKPOINT": "0",
        }

    @property
    def _placeholder(self) -> Path:
        return self.folder / "start" / "mpirun_placeholder.py"

    @property
    def socket_path(self) -> Path:
        """Return where the judge listens."""
        return self.folder / "judge.sock"

    def __exit__(self, *_: object) -> None:
        """End every process of the run and remove its folder.

        Raises GraderError when a process would not die.
        """
        try:
            if self._started:
                self.server.end()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


_MAX_FOLDERS = 200


def work_folders(files: Iterable[str], folders: Collection[str]) -> list[str]:
    """Return the folders that each rank has where it works, at most _MAX_FOLDERS.

    files: its scripts. folders: those without scripts. What lies below the folder of a script is
    there by its path from that one as well: a program may have been started in either.
    """
    starts = {above for file in files for above in folders_above(file)}
    paths = {*folders, *starts}
    paths |= {
        path[len(start) + 1 :]
        for start in starts
        for path in folders
        if path.startswith(f"{start}/")
    }
    return sorted(paths, key=nearness)[:_MAX_FOLDERS]

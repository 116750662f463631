"""A real Slurm of one node, this machine, in a folder of its own: munge, slurmctld, slurmd.

From Debian's packages (munge, slurmctld, slurmd, slurm-client), started by hand; needs root.
"""

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch")
_LIMIT_S = 30.0
_CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}
SlurmUser=root
SlurmdUser=root
SlurmctldPort={controller_port}
SlurmdPort={node_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=1024 State=UNKNOWN
PartitionName=test Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def is_there() -> bool:
    """Return whether all of it is installed, and we may start it."""
    return os.geteuid() == 0 and all(map(_program, PROGRAMS))


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


@contextlib.contextmanager
def running(folder: Path) -> Iterator[dict[str, str]]:
    """Start it; yield the variables by which its commands find it. Ends all of it."""
    folder.chmod(0o755)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    configuration = folder / "slurm.conf"
    configuration.write_text(
        _CONFIGURATION.format(
            host=socket.gethostname().partition(".")[0],
            folder=folder,
            cpus=os.cpu_count(),
            controller_port=_free_port(),
            node_port=_free_port(),
        )
    )
    environment = {**os.environ, "SLURM_CONF": str(configuration)}
    with contextlib.ExitStack() as stack:
        _start_munge(folder, stack)
        for name in ("slurmctld", "slurmd"):
            stack.enter_context(_daemon([str(_program(name)), "-D"], environment))
        _wait_until_idle(environment, folder)
        yield environment
        subprocess.run(["scancel", "--state=RUNNING"], env=environment, check=False)
        subprocess.run(["scancel", "--state=PENDING"], env=environment, check=False)
        _wait_until_empty(environment)


def _start_munge(folder: Path, stack: contextlib.ExitStack) -> None:
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    places = {"socket": "munge.socket", "pid-file": "munge.pid", "log-file": "munge.log"}
    places |= {"seed-file": "munge.seed", "key-file": "munge.key"}
    options = [f"--{option}={folder / file}" for option, file in places.items()]
    stack.enter_context(_daemon([str(_program("munged")), "-F", "-f", *options], None))
    _wait_for(lambda: (folder / "munge.socket").exists(), "munge opens no socket")


@contextlib.contextmanager
def _daemon(command: list[str], environment: dict[str, str] | None) -> Iterator[None]:
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(_LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait_until_idle(environment: dict[str, str], folder: Path) -> None:
    def is_idle() -> bool:
        command = ["sinfo", "--noheader", "--format=%T"]
        said = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        return said.stdout.strip() == "idle"

    logs = ", ".join(f"{folder}/{name}.log" for name in ("slurmctld", "slurmd"))
    _wait_for(is_idle, f"the node does not become idle; see {logs}")


def _wait_until_empty(environment: dict[str, str]) -> None:
    def is_empty() -> bool:
        command = ["squeue", "--noheader"]
        said = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        return not said.stdout.strip()

    _wait_for(is_empty, "jobs of Slurm do not end")


def _wait_for(is_so, otherwise: str) -> None:
    until_s = time.monotonic() + _LIMIT_S
    while not is_so():
        if time.monotonic() > until_s:
            raise TimeoutError(otherwise)
        time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])

"""Whether a launcher has started this command several times: ranks are started by the grader."""

from collections.abc import Mapping

from grader.model.errors import UsageError

NUM_PROCESSES = {"srun": "SLURM_STEP_NUM_TASKS", "mpirun": "OMPI_COMM_WORLD_SIZE"}
"""By the launcher: the variable with which it tells each process how many there are."""


def require_started_once(environment: Mapping[str, str]) -> None:
    """Raise UsageError where a launcher has started several of us: each would grade the whole."""
    for launcher, name in NUM_PROCESSES.items():
        number = environment.get(name, "")
        if number.isdecimal() and int(number) > 1:
            raise UsageError(
                f"{launcher} started this command {number} times, and each copy would start "
                "all ranks; start one copy with enough cores: srun -n1 -c16 grade check DIR"
            )


def without_launcher(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for a command that is started once, by a process that was not."""
    told = set(NUM_PROCESSES.values())
    return {name: value for name, value in environment.items() if name not in told}

"""What srun starts, on a real Slurm of one node: one grading, or programs MPI does not connect."""

import subprocess
import sys
import tempfile
from pathlib import Path

import one_node_slurm
import pytest

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "student_template"
CHECK = (sys.executable, "-m", "grader", "check", ROOT / "reference" / "mpi_sgd")
PART = ("--part", "naive_allreduce")
LIMIT_S = 120

pytestmark = pytest.mark.skipif(
    not one_node_slurm.is_there(), reason="Slurm is not installed, or we are no root"
)


@pytest.fixture(scope="module")
def srun():
    """Return a function that starts something by srun on a Slurm of one node."""
    with (
        tempfile.TemporaryDirectory(prefix="slurm-") as folder,
        one_node_slurm.running(Path(folder)) as environment,
    ):

        def start(*arguments):
            return subprocess.run(
                ["srun", *map(str, arguments)],
                env={**environment, "PYTHONPATH": str(ROOT)},
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
            )

        yield start


def test_one_check_on_all_cores_grades(srun):
    done = srun("-n1", "-c2", *CHECK, *PART)
    assert done.returncode == 0, done.stderr
    assert "15 / 15  passed" in done.stdout


def test_several_checks_are_told_to_be_one(srun):
    done = srun("-n2", *CHECK, *PART)
    assert done.returncode == 2
    assert "grade: srun started this command 2 times" in done.stderr
    assert "srun -n1 -c16 grade check DIR" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    "program",
    [
        ("mpi_sgd/main.py", "sync"),
        ("mpi_sgd/allreduce_test.py", "100"),
        ("federated/dist_sgd_serverless.py",),
        ("psgd_hogwild/main.py", "psgd-ranks"),
    ],
    ids=lambda program: program[0],
)
def test_programs_that_each_believe_to_be_alone_stop(srun, program):
    """Open MPI 5 does not speak what `srun --mpi=pmi2` does."""
    file, *arguments = program
    done = srun("-n2", "--mpi=pmi2", sys.executable, TEMPLATES / file, *arguments)
    assert done.returncode != 0
    assert "srun has started 2 processes that do not know of each other" in done.stderr
    assert "salloc -n 2 mpirun python" in done.stderr

"""pytest-mpi runs a suite by itself, with the verdicts of `grade open`, as docs/trace.md says.

In the images nothing is installed but the packages of requirements.lock, as after `make setup`.
"""

import re
import subprocess

import pytest
from this_checkout import IMAGE, ROOT, STUDENT_IMAGE

pytestmark = pytest.mark.usefixtures("engine")
LIMIT_S = 900
SUITE = "tests/suites/mpi_sgd/test_ring_allreduce.py"
BY_HAND = "--oversubscribe --allow-run-as-root -n 3 python -m pytest --with-mpi"
SUBMISSIONS = {
    "right": ROOT / "reference/mpi_sgd",
    "wrong": ROOT / "tests/submissions/wrong_answer/mpi_sgd/ring_send_mutated",
}
OUTCOME = re.compile(r"^(PASSED|FAILED|SKIPPED) .*?mpi_sgd/(\S+: .*|\S+)", re.MULTILINE)


def outcomes(image: str, submission: str, entrypoint: str, *command: str) -> list[tuple[str, str]]:
    """Run a command in an image, in a folder that holds the checkout."""
    volumes = {SUBMISSIONS[submission]: "/submission", ROOT: "/checkout"}
    done = subprocess.run(
        [
            *("docker", "run", "--rm", "--network=none", "--workdir=/checkout"),
            *(f"--volume={folder}:{place}:ro" for folder, place in volumes.items()),
            *(f"--entrypoint={entrypoint}", image, *command),
        ],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    found = sorted(OUTCOME.findall(done.stdout))
    assert len(found) > 20, done.stdout + done.stderr
    assert done.returncode == any(verdict == "FAILED" for verdict, _ in found), done.stderr
    return found


@pytest.mark.parametrize(
    ("submission", "image", "suite"),
    [
        pytest.param("right", IMAGE, f"/opt/course/{SUITE}", id="grade, right"),
        pytest.param(
            "wrong", IMAGE, f"/opt/course/{SUITE}", id="grade, wrong", marks=pytest.mark.slow
        ),
        pytest.param("wrong", STUDENT_IMAGE, f"/opt/course/{SUITE}", id="grade-student, wrong"),
        pytest.param("wrong", IMAGE, SUITE, id="checkout, wrong", marks=pytest.mark.slow),
    ],
)
def test_pytest_mpi_has_the_verdicts_of_an_open_session(submission, image, suite):
    options = ("--submission", "/submission", "-rA", "--color=no", "-p", "no:cacheprovider")
    by_hand = outcomes(image, submission, "mpirun", *BY_HAND.split(), suite, *options)
    assert any(verdict == "FAILED" for verdict, _ in by_hand) == (submission == "wrong")
    opened = ("open", "-n", "3", "--part", "ring_allreduce", "--plain", "/submission", "--", "-rA")
    assert by_hand == outcomes(image, submission, "grade", *opened)


def test_the_page_has_these_commands():
    page = " ".join((ROOT / "docs/trace.md").read_text().replace("\\\n", " ").split())
    assert f"grade-student {BY_HAND} /opt/course/{SUITE} --submission /submission" in page
    in_checkout = BY_HAND.replace("--allow-run-as-root ", "").replace("python", ".venv/bin/python")
    assert f".venv/bin/mpirun {in_checkout} {SUITE} --submission my_work" in page

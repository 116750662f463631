"""Each platform's layout as its documentation says, made in a container, and one hand-in graded.

No platform is asked, and after the layout is made there is no network. What a layout follows is
named in its docstring; a path is that of a file in the repository named before it.
"""

import io
import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from docker.models.containers import Container
from ruamel.yaml import YAML
from this_checkout import IMAGE, ROOT, STUDENT_IMAGE

CI = ROOT / "ci"
Create = Callable[..., Container]
"""Makes a container: (image, command, **options)."""


@dataclass(frozen=True)
class Ending:
    """What a platform gets; points: of the whole assignment, where the platform is told them."""

    code: int
    printed: str
    result: Any
    """The file that the platform reads, parsed."""
    points: float | None
    others: dict[str, str] = field(default_factory=dict)
    """The text of further files, by name."""


def put(container: Container, path: Path, at: str, without: Collection[str] = ()) -> None:
    """Copy a file or folder into a container, as root's.

    without: what is left out of the folder.
    """
    name = at.lstrip("/")
    left_out = {f"{name}/{each}" for each in without}

    def as_roots(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        member.uid = member.gid = 0
        return None if member.name in left_out else member

    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        archive.add(path, name, filter=as_roots)
    assert container.put_archive("/", data.getvalue())


def files_in(container: Container, folder: str) -> dict[str, str]:
    """Return the text of each file in a folder of a container, by its name."""
    archive = io.BytesIO(b"".join(container.get_archive(folder)[0]))
    with tarfile.open(fileobj=archive) as tar:
        files = [member for member in tar if member.isfile()]
        return {Path(each.name).name: tar.extractfile(each).read().decode() for each in files}


def end_of(container: Container) -> tuple[int, str]:
    """Start a container; return its exit code and what it has printed."""
    container.start()
    return container.wait(timeout=900)["StatusCode"], container.logs().decode()


def gradescope(create: Create, image: str, hand_in: Path, work: Path) -> Ending:
    """gradescope/autograder_samples: docs/specs.md and docs/manual_docker.md.

    The image is what setup.sh has left. Submission and results are mounts, /autograder is where
    the script starts, and its output goes to results/stdout.
    """
    results = work / "results"
    results.mkdir()
    container = create(
        image,
        ["sh", "-c", "/autograder/run_autograder >/autograder/results/stdout 2>&1"],
        working_dir="/autograder",
        network_mode="none",
        volumes=[f"{hand_in}:/autograder/submission", f"{results}:/autograder/results"],
    )
    code, _ = end_of(container)
    result = json.loads((results / "results.json").read_text())
    return Ending(code, (results / "stdout").read_text(), result, result["score"])


def prairielearn(create: Create, image: str, hand_in: Path, work: Path) -> Ending:
    """PrairieLearn/PrairieLearn: docs/externalGrading.md, apps/grader-host/src/index.ts.

    The limits are the defaults of apps/grader-host/src/lib/config.ts: nine tenths of a core.
    """
    question = CI / "prairielearn"
    options = json.loads((question / "info.json").read_text())["externalGradingOptions"]
    job = work / "job"
    shutil.copytree(question / "tests", job / "tests")
    shutil.copytree(hand_in, job / "student")
    (job / "data").mkdir()
    (job / "data" / "data.json").write_text("{}")
    (job / options["entrypoint"].removeprefix("/grade/")).chmod(0o755)
    job.chmod(0o700)
    container = create(
        image,
        entrypoint=[options["entrypoint"]],
        tty=True,
        network_disabled=not options["enableNetworking"],
        volumes=[f"{job}:/grade"],
        ipc_mode="private",
        mem_limit="2g",
        memswap_limit="2g",
        cpu_period=100_000,
        cpu_quota=90_000,
        pids_limit=1024,
    )
    container.start()
    code = container.wait(timeout=options["timeout"])["StatusCode"]
    result = json.loads((job / "results" / "results.json").read_text())
    return Ending(code, container.logs().decode(), result, 25 * result["score"])


def artemis(create: Create, image: str, hand_in: Path, _: Path) -> Ending:
    """ls1intum/Artemis: BuildJobContainerService and LocalCIBuildConfigurationService.

    The repository is copied, open to everybody, and the script is a function under `set -e`.
    """
    script = (CI / "artemis" / "build.sh").read_text()
    phases = [
        "#!/usr/bin/env bash",
        "set -e",
        "cd /var/tmp/testing-dir",
        "grade_it () {",
        *(f"  {line}" for line in script.splitlines()),
        "}",
        "main () {",
        '  if [[ "${1}" == "script_sourcing" ]]; then return 0; fi',
        '  bash -c "source ${BASH_SOURCE[0]} script_sourcing; grade_it"',
        "}",
        'main "${@}"',
    ]
    wait = "while [ ! -f /var/tmp/stop_container.txt ]; do sleep 0.5; done"
    container = create(
        image,
        ["sh", "-c", wait],
        entrypoint=[],
        environment={"SCRIPT": "\n".join(phases)},
        network_mode="none",
    )
    container.start()
    put(container, hand_in, "/var/tmp/repository")
    for command in (
        "mkdir -p /var/tmp/testing-dir && chmod -R 777 /var/tmp/testing-dir",
        "mkdir -p /var/tmp/testing-dir/assignment",
        "cp -r /var/tmp/repository/. /var/tmp/testing-dir/assignment",
        'echo "$SCRIPT" >/var/tmp/script.sh && chmod +x /var/tmp/script.sh',
    ):
        assert container.exec_run(["bash", "-c", command], user="root").exit_code == 0
    done = container.exec_run(["bash", "/var/tmp/script.sh"])
    (text,) = files_in(container, "/var/tmp/testing-dir/test-results").values()
    return Ending(done.exit_code, done.output.decode(), ElementTree.fromstring(text), None)


def gitlab(create: Create, _: str, hand_in: Path, work: Path) -> Ending:
    """GitLab's pages "Docker executor" and "Feature flags": /builds is a volume.

    The checkout is root's and open to everybody (umask 0000); the job is the image's user, with
    the network that the runner gives: none here.
    """
    job = YAML(typ="safe").load(CI / "gitlab-ci.yml")["grade"]
    checkout = work / "checkout"
    shutil.copytree(hand_in, checkout)
    for path in [checkout, *checkout.rglob("*")]:
        path.chmod(0o777 if path.is_dir() else 0o666)
    script = "set -eo pipefail; set +o noclobber; cd $CI_PROJECT_DIR\n" + "\n".join(job["script"])
    container = create(
        STUDENT_IMAGE,
        ["bash", "-c", script],
        entrypoint=[],
        environment={**job["variables"], "CI": "true", "CI_PROJECT_DIR": "/builds/course/rings"},
        network_mode="none",
        volumes=["/builds"],
    )
    put(container, checkout, "/builds/course/rings")
    code, printed = end_of(container)
    found = files_in(container, "/builds/course/rings/report")
    points = json.loads(found["report.json"])["score"]
    return Ending(code, printed, json.loads(found.pop("codequality.json")), points, found)


def runner(create: Create, hand_in: Path, work: Path) -> tuple[Container, Path]:
    """Return a machine as GitHub's runners are, and the workspace: a checkout of a repository.

    GitHub's pages "GitHub-hosted runners" and "Variables": the user `runner`, who may talk to the
    engine. Its folders lie where the engine sees them too, not below /home/runner.
    """
    workspace = work / "rings" / "rings"
    shutil.copytree(hand_in, workspace)
    (workspace / ".git").mkdir()
    (workspace / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (work / "_temp").mkdir()
    machine = create(
        IMAGE,
        ["infinity"],
        entrypoint="sleep",
        network_mode="none",
        environment={
            "CI": "true",
            "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_RUN_ID": f"{os.getpid()}-{work.parent.name}",
            "GITHUB_STEP_SUMMARY": str(work / "_temp" / "summary.md"),
            "GITHUB_WORKSPACE": str(workspace),
            "HOME": str(work),
            "RUNNER_TEMP": str(work / "_temp"),
            "TMPDIR": str(work / "_temp"),
        },
        volumes=[
            f"{work}:{work}",
            "/var/run/docker.sock:/var/run/docker.sock",
            f"{shutil.which('docker')}:/usr/local/bin/docker:ro",
        ],
        working_dir=str(workspace),
    )
    machine.start()
    # The image that stands in for the machine has no openssl.
    openssl = "#!/bin/sh\nhead -c 16 /dev/urandom | od -An -tx1 | tr -d ' \\n'\n"
    (work / "openssl").write_text(openssl)
    (work / "openssl").chmod(0o755)
    put(machine, work / "openssl", "/usr/local/bin/openssl")
    assert machine.exec_run(["chown", "-R", "1001:1001", str(work)]).exit_code == 0
    return machine, workspace


def as_runner(machine: Container, command: list[str], **variables: str) -> tuple[int, str]:
    group = Path("/var/run/docker.sock").stat().st_gid
    done = machine.exec_run(command, user=f"1001:{group}", environment=variables)
    return done.exit_code, done.output.decode()


def github(create: Create, _: str, hand_in: Path, work: Path) -> Ending:
    """Each step after the image is there, in bash -e; the result is what the runner obeys.

    GitHub's pages "Workflow syntax" and "Workflow commands".
    """
    machine, _ = runner(create, hand_in, work)
    workflow = YAML(typ="safe").load(CI / "github-actions.yml")
    steps = {step.get("name"): step.get("run") for step in workflow["jobs"]["grade"]["steps"]}
    variables = {**workflow["env"], "GRADE_IMAGE": STUDENT_IMAGE}
    grade = ["bash", "-e", "-c", steps["Grade"]]
    code, printed = as_runner(machine, grade, **variables)
    annotate = ["bash", "-e", "-c", steps["Annotate the lines"]]
    assert as_runner(machine, ["bash", "-e", "-c", steps["Publish the summary"]])[0] == 0
    commands = as_runner(machine, annotate)[1].splitlines()
    found = files_in(machine, str(work / "_temp" / "report"))
    found |= files_in(machine, str(work / "_temp" / "summary.md"))
    return Ending(code, printed, commands, json.loads(found["report.json"])["score"], found)


def classroom50(create: Create, _: str, hand_in: Path, work: Path) -> Ending:
    """The wiki of foundation50/classroom50, "Advanced Autograding"."""
    machine, workspace = runner(create, hand_in, work)
    script = (CI / "classroom50" / "autograder.py").read_text()
    script = script.replace("registry.example.org/course/grade-student", STUDENT_IMAGE)
    identity = dict.fromkeys(
        ("CLASSROOM", "ASSIGNMENT", "COMMIT_URL", "RELEASE_URL", "REVIEW_URL"), "rings"
    )
    tag = "submit/2026-03-02T01-58-11Z-abc1234"
    code, printed = as_runner(machine, ["python3", "-c", script], **identity, SUBMISSION_TAG=tag)
    result = json.loads(files_in(machine, str(workspace / "result.json"))["result.json"])
    return Ending(code, printed, result, 100 * result["score"] / result["max-score"])


def docker_run(_: Create, image: str, hand_in: Path, __: Path) -> Ending:
    """The command of docs/instructor.md: the submission is read-only, and there is no network."""
    command = ["docker", "run", "--rm", "--network", "none", "-v", f"{hand_in}:/submission:ro"]
    done = subprocess.run(
        [*command, image, "check", "/submission", "--json", "-"], capture_output=True, text=True
    )
    result = json.loads(done.stdout)
    return Ending(done.returncode, done.stderr, result, result["score"])

"""The steps of the Apptainer definition, run in a container; Apptainer itself is not tried.

The container is as Apptainer would have it: a user that owns nothing, a file system that nobody
writes to but for /tmp, and no protection of ours.
"""

import json
import re
import subprocess
from pathlib import Path

import docker
import pytest
from this_checkout import ROOT

DEFINITION = ROOT / "ci" / "apptainer" / "grader.def"
SAMPLES = ROOT / "tests" / "submissions"
LIMIT_S = 900


def sections() -> dict[str, str]:
    """Return the sections of the definition by name, with its arguments put in."""
    header, *rest = re.split(r"^%(?=\w+$)", DEFINITION.read_text(), flags=re.MULTILINE)
    found = {name: text for name, _, text in (each.partition("\n") for each in rest)}
    for argument in found["arguments"].split():
        name, _, value = argument.partition("=")
        found = {each: text.replace(f"{{{{ {name} }}}}", value) for each, text in found.items()}
        header = header.replace(f"{{{{ {name} }}}}", value)
    return {"header": header, **found}


def copies() -> list[tuple[str, str]]:
    pairs = (line.split() for line in sections()["files"].splitlines() if line.strip())
    return [(source, target) for source, target in pairs]


def test_what_the_definition_takes_is_what_the_images_are_made_of():
    """The wheelhouse is made by `make wheelhouse`; the rest is in the repository."""
    dockerfile = (ROOT / "Dockerfile").read_text()
    for source, _ in copies():
        assert source == "wheelhouse" or (ROOT / source).exists()
        assert source in dockerfile
    assert "{{" not in "".join(sections().values())
    told = set(re.findall(r"export (\w+)=(\S+)", sections()["environment"]))
    for name, value in told - {("GRADER_COURSE", "/opt/course")}:
        assert re.search(rf"\b{name}={re.escape(value)}(\s|$)", dockerfile), name


@pytest.fixture(scope="module")
def unsealed(tmp_path_factory):
    """Return a function that runs `grade` in what the steps make."""
    found = sections()
    base = re.search(r"^From: (\S+)$", found["header"], re.MULTILINE)[1]
    made = tmp_path_factory.mktemp("steps")
    copied = [
        f"mkdir -p {Path(target).parent}; cp -r /repository/{source} {target}"
        for source, target in copies()
    ]
    (made / "post").write_text("set -eu\n" + "\n".join(copied) + "\n" + found["post"])
    (made / "run").write_text(found["environment"] + found["runscript"])
    made.chmod(0o755)
    folders = {ROOT: "/repository", made: "/steps"}
    volumes = {str(folder): {"bind": at, "mode": "ro"} for folder, at in folders.items()}
    api = docker.from_env()
    building = api.containers.run(
        base, ["sh", "/steps/post"], volumes=volumes, network_mode="host", detach=True
    )
    try:
        assert building.wait(timeout=LIMIT_S)["StatusCode"] == 0, building.logs()[-3000:].decode()
        image = building.commit()
    finally:
        building.remove(force=True)

    def run(submission, *arguments):
        return subprocess.run(
            [
                *("docker", "run", "--rm", "--read-only", "--tmpfs=/tmp:exec", "--network=none"),
                *(
                    "--user=1000:1000",
                    f"--volume={made}:/steps:ro",
                    f"--volume={submission}:/in:ro",
                ),
                *(image.id, "sh", "/steps/run", "check", "/in", *arguments),
            ],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )

    yield run
    api.images.remove(image.id, force=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "submission",
    [
        "accepted/mpi_sgd/naive_in_rounds",
        "wrong_answer/mpi_sgd/async_final_gather_missing",
        "deadlock/mpi_sgd/ring_receives_from_the_wrong_side",
    ],
)
def test_the_steps_make_what_grades_without_root_and_docker(unsealed, submission):
    done = unsealed(SAMPLES / submission, "--json", "-")
    assert done.returncode in (0, 1), done.stderr
    report = json.loads(done.stdout)
    assert report["mode"] == "local"
    verdict = submission.split("/")[0].upper()
    assert verdict in {part["verdict"] for part in report["parts"]}
    said = " ".join(unsealed(SAMPLES / submission).stdout.split())
    assert "Local check, not your mark." in said

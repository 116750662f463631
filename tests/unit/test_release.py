"""The workflow of a release, by the linters made for it: nothing here can run it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from grader.selftest.architecture import ARCHITECTURES

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / ".github/workflows/release.yml"
WORKFLOW = YAML(typ="safe").load(FILE)
STEPS = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]
LINTERS = [
    ("check-jsonschema", "--builtin-schema", "vendor.github-workflows"),
    ("zizmor", "--offline", "--no-config"),
]


def run(program, *arguments, stdin=""):
    beside = Path(sys.executable).parent / program
    command = [beside if beside.exists() else program, *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("command", LINTERS, ids=lambda command: command[0])
def test_linters_find_nothing(command):
    """Neither a key that the platform does not know, nor a known weakness."""
    done = run(*command, FILE)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("command", "old", "new"),
    [
        (LINTERS[0], "runs-on:", "runs_on:"),
        (LINTERS[1], "actions/checkout@08c6903cd8c0fde910a37f88322edcfb5dd907a8", "a/b@main"),
        (LINTERS[1], "permissions:\n      contents: write", "permissions: write-all"),
        (LINTERS[1], '"$GITHUB_REF_NAME" != ', '"${{ github.head_ref }}" != '),
    ],
)
def test_linters_find_what_is_wrong(tmp_path, command, old, new):
    """A mistake of each kind makes them fail."""
    folder = tmp_path / ".github/workflows"
    folder.mkdir(parents=True)
    text = FILE.read_text()
    assert old in text
    (folder / "release.yml").write_text(text.replace(old, new))
    assert run(*command, folder / "release.yml").returncode != 0


@pytest.mark.skipif(shutil.which("actionlint") is None, reason="actionlint is not installed")
def test_actionlint_finds_nothing():
    done = run("actionlint", FILE)
    assert done.returncode == 0, done.stdout


def test_the_scripts_are_sound_shell():
    """What the steps run passes shellcheck, under the options of the platform's bash."""
    scripts = [step["run"] for step in STEPS if "run" in step]
    assert len(scripts) >= 5
    for script in scripts:
        done = run("shellcheck", "--shell", "bash", "-", stdin="#!/bin/bash -e\n" + script)
        assert done.returncode == 0, script + done.stdout


def test_actions_are_pinned_by_commit():
    """And a comment tells people which version that is."""
    used = re.findall(r"uses: (.*)", FILE.read_text())
    assert len(used) == len([step for step in STEPS if "uses" in step]) > 4
    for each in used:
        assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each), each


def test_each_job_has_the_rights_that_it_needs():
    """None by default; only the last one writes to the repository."""
    assert WORKFLOW["permissions"] == {}
    writing = {
        name
        for name, job in WORKFLOW["jobs"].items()
        if job["permissions"].get("contents") == "write"
    }
    assert writing == {"publish"}


def test_what_is_built_has_its_provenance():
    """The wheels and every image that is published."""
    subjects = [step["with"] for step in STEPS if "attest-build-provenance" in step.get("uses", "")]
    assert [set(each) & {"subject-path", "subject-digest"} for each in subjects] == [
        {"subject-path"},
        {"subject-digest"},
    ]


def test_the_image_with_the_solutions_stays_at_home():
    """Every image but `grade` is for others."""
    stages = re.findall(r"^FROM .* AS (grade\S*)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    published = WORKFLOW["jobs"]["images"]["strategy"]["matrix"]["image"]
    assert sorted(published) == sorted(set(stages) - {"grade"})
    for step in STEPS:
        for line in re.findall(r"for image in (.*); do", step.get("run", "")):
            assert line.split() == published


def test_it_is_built_for_the_architectures_that_we_know():
    """Each on a machine of its own kind."""
    built = WORKFLOW["jobs"]["build"]["strategy"]["matrix"]["include"]
    known = [each.container.removeprefix("linux/") for each in ARCHITECTURES.values()]
    assert [each["architecture"] for each in built] == known
    assert [each["runner"].endswith("-arm") for each in built] == [False, True]

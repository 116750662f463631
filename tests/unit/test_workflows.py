"""Every workflow of this repository, by the linters made for them: nothing here can run one."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / ".github/workflows").iterdir())
SCHEMA = ("check-jsonschema", "--builtin-schema", "vendor.github-workflows")
ZIZMOR = ("zizmor", "--offline", "--no-config")
MISTAKES = {
    "unknown key": (SCHEMA, "runs-on:", "runs_on:"),
    "action on a branch": (ZIZMOR, "actions/checkout@[0-9a-f]{40}", "a/b@main"),
    # Of the last job, which may name some. The linter overlooks those of a whole workflow.
    "all rights": (
        ZIZMOR,
        r"(?s)    (permissions:\n      contents: \w+\n    )?steps:(?!.*\n    steps:)",
        "    permissions: write-all\n    steps:",
    ),
    "injection": (
        ZIZMOR,
        r"run: \|\n( +)",
        r'run: |\n\1echo "${{ github.head_ref }}"\n\1',
    ),
}

of_every_file = pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)


def run(program, *arguments, stdin=""):
    """Run a linter. One that is not installed is an error, never a reason to skip."""
    beside = Path(sys.executable).parent / program
    command = [beside if beside.exists() else program, *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60)


def steps(text):
    return [step for job in YAML(typ="safe").load(text)["jobs"].values() for step in job["steps"]]


def scripts(text):
    return [step["run"] for step in steps(text) if "run" in step]


def unpinned(text):
    """Return what is used without the hash of a commit and, for people, its version."""
    pinned = r"actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+"
    used = re.findall(r"uses: *(.*)", text)
    assert len(used) == len([step for step in steps(text) if "uses" in step])
    return [each for each in used if not re.fullmatch(pinned, each)]


def made(text):
    """Return the targets that the steps make, in their order."""
    commands = "\n".join(scripts(text)).replace("\\\n", " ")
    lines = [line.split() for line in commands.splitlines()]
    return [
        word
        for words in lines
        if words[:1] == ["make"]
        for word in words[1:]
        if "=" not in word and not word.startswith("-")
    ]


def targets(makefile):
    rules = re.findall(r"^([\w-]+(?: [\w-]+)*):(?!=)", makefile, re.MULTILINE)
    return {target for rule in rules for target in rule.split()}


def test_every_workflow_is_found():
    """An empty list would make all that follows hold."""
    assert {"nightly.yml", "pr.yml", "release.yml"} <= {file.name for file in FILES}
    assert {file.suffix for file in FILES} <= {".yml", ".yaml"}


@of_every_file
@pytest.mark.parametrize("command", [SCHEMA, ZIZMOR], ids=lambda command: command[0])
def test_linters_find_nothing(command, file):
    """Neither a key that the platform does not know, nor a known weakness."""
    done = run(*command, file)
    assert done.returncode == 0, done.stdout + done.stderr


@of_every_file
@pytest.mark.parametrize("mistake", MISTAKES)
def test_linters_find_what_is_wrong(tmp_path, mistake, file):
    """A mistake of each kind makes them fail."""
    command, old, new = MISTAKES[mistake]
    wrong = tmp_path / ".github/workflows" / file.name
    wrong.parent.mkdir(parents=True)
    text, number = re.subn(old, new, file.read_text(), count=1)
    assert number == 1
    assert steps(text), "a mistake is no broken file"
    wrong.write_text(text)
    assert run(*command, wrong).returncode != 0


@pytest.mark.skipif(
    shutil.which("actionlint") is None,
    reason="actionlint is not installed; its Python package downloads it from elsewhere",
)
@of_every_file
def test_actionlint_finds_nothing(file):
    """Where it is installed, it agrees with the linters above, which always run."""
    done = run("actionlint", file)
    assert done.returncode == 0, done.stdout


@of_every_file
def test_the_scripts_are_sound_shell(file):
    """What the steps run passes shellcheck, under the options of the platform's bash."""
    found = scripts(file.read_text())
    assert found
    for script in found:
        done = run("shellcheck", "--shell", "bash", "-", stdin="#!/bin/bash -e\n" + script)
        assert done.returncode == 0, script + done.stdout


@of_every_file
def test_actions_are_pinned_by_commit(file):
    """And a comment tells people which version that is."""
    assert "uses:" in file.read_text()
    assert unpinned(file.read_text()) == []


@pytest.mark.parametrize(
    "used",
    [
        "actions/cache",
        "actions/cache@v5",
        "actions/cache@27d5ce7 # v5.0.5",
        "actions/cache@27d5ce7f107fe9357f9df03efb73ab90386fccae",
        "another/cache@27d5ce7f107fe9357f9df03efb73ab90386fccae # v5.0.5",
    ],
)
def test_an_action_that_is_not_pinned_is_noticed(used):
    """A tag can move. Part of a hash can be forged. Only the platform's own actions are used."""
    assert unpinned(f"jobs: {{a: {{steps: [\n  uses: {used}\n]}}}}\n") == [used]


def test_each_action_is_the_same_everywhere():
    """One commit and one version for all workflows."""
    used = {each for file in FILES for each in re.findall(r"uses: (.*)", file.read_text())}
    names = [each.partition("@")[0] for each in used]
    assert sorted(names) == sorted(set(names)), sorted(used)


@of_every_file
def test_what_is_made_is_in_the_makefile(file):
    """Every target that a step names."""
    assert set(made(file.read_text())) <= targets((ROOT / "Makefile").read_text())


def test_a_target_that_is_not_there_is_noticed():
    """Targets are told from variables, options and what else has a colon."""
    makefile = (
        "BIN := a\n.PHONY: lost\nsetup: a/b | c\nred blue: ; \n\tmake inner:\nx:=1\n$(A)/y: z\n"
    )
    assert targets(makefile) == {"setup", "red", "blue"}
    text = """
jobs:
  a:
    steps:
      - run: make setup
      - run: |
          apt-get install \\
            make gcc
          make -j2 red ONE_IN=1 green
"""
    assert made(text) == ["setup", "red", "green"]


@pytest.mark.parametrize(
    ("name", "expected"), [("pr.yml", ["check", "test"]), ("nightly.yml", ["nightly"])]
)
def test_a_change_and_a_night_run_what_people_run(name, expected):
    """Nothing is tested but through the Makefile."""
    assert made((ROOT / ".github/workflows" / name).read_text()) == expected


def test_a_night_is_set_up_as_a_change_is():
    """Up to the first target, all steps and the machine are the same."""
    jobs = [
        YAML(typ="safe").load(ROOT / ".github/workflows" / name)["jobs"]["test"]
        for name in ("pr.yml", "nightly.yml")
    ]
    change, night = (
        [step for step in job["steps"] if not step.get("run", "").startswith("make ")]
        for job in jobs
    )
    assert night[: len(change)] == change
    assert len(change) == 4
    assert jobs[0]["runs-on"] == jobs[1]["runs-on"]


def test_the_cache_is_keyed_by_what_is_there():
    """A pattern that matches nothing would silently be no part of the key."""
    text = (ROOT / ".github/workflows/pr.yml").read_text()
    (cache,) = [step for step in steps(text) if "actions/cache@" in step.get("uses", "")]
    key, fallback = cache["with"]["key"], cache["with"]["restore-keys"]
    assert key == fallback + "${{ hashFiles('tests/suites/**') }}"
    patterns = re.findall(r"'(.*?)'", key)
    assert len(patterns) == 5
    for pattern in patterns:
        assert (ROOT / pattern.removesuffix("/**")).is_dir(), pattern


@pytest.mark.parametrize("name", ["pr.yml", "nightly.yml"])
def test_the_job_can_only_read(name):
    """What a pull request brings along runs here."""
    workflow = YAML(typ="safe").load(ROOT / ".github/workflows" / name)
    assert workflow["permissions"] == {"contents": "read"}
    assert all("permissions" not in job for job in workflow["jobs"].values())
    assert "pull_request_target" not in workflow["on"]

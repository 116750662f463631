"""Which assignment a submission is for, and under which names its files are graded."""

from dataclasses import replace
from pathlib import Path

import pytest

from grader import parts, pipeline
from grader import submission as submissions
from grader.assignment import Assignment, Part
from grader.courses import bundled, find_courses
from grader.errors import GraderError, UsageError
from grader.model import Verdict
from grader.recognition import missing_text, recognise, require_likely
from grader.settings import Settings


def part(name: str, *files: str, **accepted: tuple[str, ...]) -> Part:
    names = {f"{file}.py": others for file, others in accepted.items()}
    return Part(name, name, files, "f()", "test_p.py", 1, "alone", 1.0, accepted_names=names)


def assignment(name: str, *parts: Part, support: tuple[str, ...] = ()) -> Assignment:
    return Assignment(name, name, Path("nowhere"), support, parts, ())


def handed_in(*names: str) -> submissions.Submission:
    return submissions.of_files("handin", dict.fromkeys(names, b""))


MPI = assignment(
    "mpi", part("ring", "ring.py"), part("fit", "fit.py"), support=("network.py", "utils.py")
)
HOGWILD = assignment(
    "hogwild", part("network", "network.py"), part("psgd", "psgd.py"), support=("images.py",)
)
VGG = assignment("vgg", part("one", "part1/main.py"), part("two", "part2/main.py"))
LENET = assignment("lenet", part("all", "all.py", all=("1a.py", "2a.py")), part("ring", "ring.py"))
KNOWN = [HOGWILD, MPI, VGG]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["ring.py"], "mpi"),
        (["part2/main.py"], "vgg"),
        # Support of one is handed in for the other.
        (["ring.py", "network.py"], "mpi"),
        (["ring.py", "network.py", "utils.py"], "mpi"),
        (["network.py"], "hogwild"),
        (["network.py", "utils.py"], "hogwild"),
        (["network.py", "psgd.py", "utils.py", "ring.py"], "hogwild"),
        (["ring.py", "fit.py", "network.py", "psgd.py", "utils.py"], "mpi"),
    ],
)
def test_most_files_decide_and_then_most_support_files(names, expected):
    """In whatever order the assignments are known."""
    for known in (KNOWN, KNOWN[::-1]):
        assert recognise(handed_in(*names), known).name == expected


def test_equally_many_files_need_a_name():
    """One sentence names both, and the option."""
    with pytest.raises(UsageError) as raised:
        recognise(handed_in("psgd.py", "part1/main.py"), KNOWN)
    assert str(raised.value) == (
        "handin may be for hogwild or vgg: it holds as many files of each; say which with "
        "--assignment hogwild"
    )


def test_a_support_file_alone_is_no_submission():
    """Only files that are handed in are graded."""
    with pytest.raises(UsageError, match=r"holds none of the files .* found utils\.py"):
        recognise(handed_in("utils.py"), KNOWN)


def test_what_a_notebook_lacks_is_said(tmp_path):
    """The message that nothing was found tells why."""
    (tmp_path / "a.ipynb").write_text('{"cells": []}')
    (tmp_path / "x.txt").write_text("")
    found = submissions.read(tmp_path, ["ring.py"])
    with pytest.raises(UsageError, match=r"a\.ipynb has no cell that begins with %%writefile$"):
        recognise(found, KNOWN)


def test_files_that_lie_too_far_down_are_named(tmp_path):
    """Where nothing else was found either."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "ring.py").write_text("")
    with pytest.raises(UsageError, match=r"found a/b/ring\.py; .* it lies 2 folders down; exp"):
        recognise(submissions.read(tmp_path, ["ring.py"]), KNOWN)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("Part 1/main.py", "part1/main.py"),
        ("hw/task1/main.py", "part1/main.py"),
        ("part1/Main.PY", "part1/main.py"),
        ("my-ring.py", "ring.py"),
        ("PSGD.py", "psgd.py"),
        ("hand in/Psgd_final.py", "psgd.py"),
    ],
)
def test_a_name_that_is_almost_right_is_asked_for(tmp_path, path, name):
    """With the assignment that it belongs to, and all that this one expects."""
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text("")
    (tmp_path / ".env").write_text("")
    wanted = [file for each in KNOWN for file in each.handed_in]
    with pytest.raises(UsageError) as raised:
        recognise(submissions.read(tmp_path, wanted), KNOWN)
    assert f"found {path}; nearest is " in str(raised.value)
    assert f"Did you mean {name} by {path}?" in str(raised.value)
    assert ".env" not in str(raised.value)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("my_ring_allreduc.py", ("mpi_sgd", "my_ring_allreduce.py")),
        ("rin_allreduce.py", ("lenet_eyeriss", "ring_allreduce.py")),
        ("hogwil.py", ("psgd_hogwild", "hogwild.py")),
        ("fed_avgg.py", ("federated", "fed_avg.py")),
    ],
)
def test_the_nearest_name_decides_between_assignments(path, expected):
    """And not which of them comes first."""
    assignment, name = expected
    for known in (bundled().assignments(), bundled().assignments()[::-1]):
        with pytest.raises(UsageError) as raised:
            recognise(handed_in(path), known)
        assert f"nearest is {assignment}, which expects " in str(raised.value)
        assert f"Did you mean {name} by {path}?" in str(raised.value)


@pytest.mark.parametrize(
    ("source", "expected"),
    [(b"class Net:\n    def forward(self): ...", "lenet"), (b"def ring(comm): ...", "mpi")],
)
def test_between_equally_near_names_contents_decide(tmp_path, source, expected):
    """By the functions and classes of the template."""
    known = [replace(each, template=tmp_path / each.name) for each in (LENET, MPI)]
    for each, text in zip(known, ("class Net:\n  def forward", "def ring(comm)"), strict=True):
        each.template.mkdir()
        (each.template / "ring.py").write_text(text)
    found = submissions.of_files("handin", {"rings.py": source})
    for order in (known, known[::-1]):
        with pytest.raises(UsageError, match=f"nearest is {expected}, which"):
            recognise(found, order)


def test_where_nothing_is_near_every_assignment_is_named(tmp_path):
    """And what was found in folders, too."""
    (tmp_path / "docs").mkdir()
    for number in range(10):
        (tmp_path / "docs" / f"{number}.txt").write_text("")
    with pytest.raises(UsageError) as raised:
        recognise(submissions.read(tmp_path, ["ring.py"]), KNOWN)
    assert "found docs/0.txt, docs/1.txt, " in str(raised.value)
    assert "docs/7.txt and 2 more; expected for example network.py (hogwild) or ring.py (mpi)" in (
        str(raised.value)
    )


def test_files_of_another_assignment_are_told_from_none_at_all():
    """Who names an assignment and hands in another one has mixed up something."""
    with pytest.raises(UsageError) as raised:
        require_likely(handed_in("psgd.py", "hogwild.py"), MPI, KNOWN)
    assert str(raised.value) == (
        "handin holds none of the files of mpi: these look like hogwild; name that assignment "
        "instead"
    )
    require_likely(handed_in("psgd.py", "ring.py"), MPI, KNOWN)
    require_likely(handed_in("psgd.py", "Ring.py"), MPI, KNOWN)
    require_likely(handed_in("notes.txt"), MPI, KNOWN)


def test_a_missing_file_is_named_with_what_may_have_been_meant():
    """But what is asked for or given under its own name was not meant to be another one."""
    vgg, hogwild = VGG.parts[1], HOGWILD.parts[1]
    text = missing_text(handed_in("Part2/main.py", "part1/main.py"), VGG, vgg, "part2/main.py")
    assert text == (
        "part2/main.py was not handed in; did you mean it by Part2/main.py? If so, rename that"
    )
    assert missing_text(handed_in("part1/main.py"), VGG, vgg, "part2/main.py") == (
        "part2/main.py was not handed in"
    )
    assert missing_text(handed_in("images.py"), HOGWILD, hogwild, "psgd.py") == (
        "psgd.py was not handed in"
    )


def test_another_accepted_name_counts():
    """A file under its other name speaks for the assignment, once."""
    known = [LENET, MPI]
    assert recognise(handed_in("1a.py"), known).name == "lenet"
    with pytest.raises(UsageError, match="may be for lenet or mpi"):
        recognise(handed_in("all.py", "1a.py", "fit.py"), known)


def test_without_assignments_nothing_can_be_recognised():
    """That is the installation's failure."""
    with pytest.raises(GraderError, match="no assignment is installed"):
        recognise(handed_in("ring.py"), [])


@pytest.mark.parametrize("name", bundled().names())
def test_every_reference_file_set_is_recognised(name):
    """The files of each installed assignment, with what it gives along, are recognised."""
    known = bundled().assignments()
    (own,) = [each for each in known if each.name == name]
    whole = handed_in(*own.handed_in)
    assert recognise(whole, known) is own
    assert recognise(handed_in(*own.handed_in, *own.support), known) is own
    for file in own.handed_in:
        # A student may hand in one file among all that the template holds.
        assert recognise(handed_in(file, *own.support), known) is own


def test_the_report_says_that_the_assignment_was_recognised(tmp_path):
    """But not when it was named."""
    (tmp_path / "my_ring_allreduce.py").write_text("")
    settings = Settings(parts=["naive_allreduce"])
    found = pipeline.grade(tmp_path, settings=settings)
    assert (found.assignment, found.is_recognised) == ("mpi_sgd", True)
    named = pipeline.grade(tmp_path, assignment="mpi_sgd", settings=settings)
    assert (named.assignment, named.is_recognised) == ("mpi_sgd", False)


def test_a_named_assignment_tells_the_folder_that_counts(tmp_path):
    """Where two folders hold the files of two assignments."""
    known = [bundled().load(each) for each in ("mpi_sgd", "vgg_ddp")]
    for folder, each in zip(("ex1", "ex2"), known, strict=True):
        for file in each.handed_in:
            (tmp_path / folder / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / folder / file).write_text("")
    for each in known:
        found = submissions.read(tmp_path, find_courses().wanted(each.name))
        assert set(found.files) == set(each.handed_in)


def test_a_file_is_graded_under_the_asked_name():
    """The part is told; a file under the asked name itself comes first."""
    all_reduce = LENET.parts[0]
    files, notes = parts._under_asked_names(all_reduce, {"2a.py": b"2", "1a.py": b"1"})
    assert files == {"all.py": b"1", "1a.py": b"1", "2a.py": b"2"}
    assert notes == ("graded 1a.py as all.py",)
    files, notes = parts._under_asked_names(all_reduce, {"all.py": b"0", "1a.py": b"1"})
    assert (files["all.py"], notes) == (b"0", ())


def test_a_missing_file_is_named_with_its_other_names():
    """The student learns all names under which it would have been found."""
    task = parts.GradingTask(handed_in("ring.py"), LENET, Settings(), launch=pytest.fail)
    result = parts._grade_once(task, LENET.parts[0]).result
    assert result.verdict is Verdict.NOT_ATTEMPTED
    assert result.message == "all.py or 1a.py or 2a.py was not handed in"

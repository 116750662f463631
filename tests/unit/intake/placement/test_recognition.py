"""Which assignment a submission is for, and what is said of a file that is missing."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from grader.course.assignment import Assignment
from grader.course.assignment_file import Part
from grader.course.courses import bundled, find_courses
from grader.grading import parts, pipeline
from grader.grading.settings import Settings
from grader.intake import submission as submissions
from grader.intake.placement.recognition import (
    meant_by,
    missing_text,
    recognise,
    require_likely,
    unused_text,
)
from grader.intake.placement.table import place
from grader.model.errors import GraderError, UsageError
from grader.model.report import Verdict


def part(name: str, *files: str, entry: str = "f()", **accepted: tuple[str, ...]) -> Part:
    names = {f"{file}.py": others for file, others in accepted.items()}
    return Part(name, name, files, entry, "test_p.py", 1, "alone", 1.0, accepted_names=names)


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
        (["a/b/lee_late_1_2_ring (1).py"], "mpi"),
        (["part1_main.py"], "vgg"),
        (["code.zip/repo-main/Psgd_final.py"], "hogwild"),
        # The better names decide between equally many files.
        (["ring (1).py", "psgd.py"], "hogwild"),
        (["RING.py", "psgd_2.py", "fit.py"], "mpi"),
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
        "handin could be for hogwild or vgg: it has the same number of files for each; name one "
        "with --assignment hogwild"
    )


def test_a_support_file_alone_is_no_submission():
    """Only files that are handed in are graded."""
    with pytest.raises(UsageError, match=r"no file of any known assignment. Found utils\.py"):
        recognise(handed_in("utils.py"), KNOWN)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("hw/task1/main.py", "part1/main.py"),
        ("my-ring.py", "ring.py"),
        ("hand in/Psgd_mine.py", "psgd.py"),
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
    assert path in str(raised.value)
    assert name in str(raised.value)
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
        assert f"closest assignment is {assignment}" in str(raised.value)
        assert name in str(raised.value)
        assert path in str(raised.value)


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
        with pytest.raises(UsageError, match=f"closest assignment is {expected}"):
            recognise(found, order)


def test_where_nothing_is_near_every_assignment_is_named(tmp_path):
    """And what was found in folders, too."""
    (tmp_path / "docs").mkdir()
    for number in range(10):
        (tmp_path / "docs" / f"{number}.txt").write_text("")
    with pytest.raises(UsageError) as raised:
        recognise(submissions.read(tmp_path, ["ring.py"]), KNOWN)
    text = str(raised.value)
    assert "docs/0.txt" in text and "docs/7.txt, and 2 more" in text
    assert "network.py (hogwild)" in text and "ring.py (mpi)" in text


def test_of_a_file_that_was_not_read_the_reason_is_told(tmp_path):
    """It was handed in, after all."""
    (tmp_path / "ring.py").write_bytes(b"# coding: utf-7")
    (tmp_path / "fit.py").write_bytes(b"1")
    found = submissions.read(tmp_path, ["ring.py", "fit.py"])
    text, _ = missing_text(place(found, MPI), MPI.parts[0], "ring.py")
    assert text.startswith(
        "ring.py was not read: it declares the unsupported encoding utf-7 on line 1; "
    )


def test_a_file_that_was_not_read_shows_which_assignment_is_meant():
    """So that the part says why it has no points, not that the file has another name."""
    unread = replace(handed_in("notes.py"), not_read={"ring.py": "has a NUL byte on line 1"})
    mine, other = assignment("mine", part("ring", "ring.py")), assignment("other")
    assert recognise(unread, [other, mine]) is mine


def test_files_of_another_assignment_are_told_from_none_at_all():
    """Who names an assignment and hands in another one has mixed up something."""
    with pytest.raises(UsageError) as raised:
        require_likely(handed_in("psgd.py", "hogwild.py"), MPI, KNOWN)
    assert "handin has no file of mpi" in str(raised.value)
    assert "hogwild" in str(raised.value)
    require_likely(handed_in("psgd.py", "ring.py"), MPI, KNOWN)
    require_likely(handed_in("psgd.py", "Ring.py"), MPI, KNOWN)
    require_likely(handed_in("notes.txt"), MPI, KNOWN)


RING = assignment(
    "rings",
    part("naive", "naive.py", entry="allreduce(send, recv)"),
    part("ring", "ring.py", entry="ringallreduce(send, recv)"),
    part("fit", "part1/main.py", entry="Net.fit(data)"),
    part("run", "run.py", entry="python run.py"),
    support=("utils.py",),
)


@pytest.mark.parametrize(
    ("files", "meant"),
    [
        # What it defines comes first, then its name.
        ({"solution.py": b"def ringallreduce(a, b): ..."}, {"ring.py": "solution.py"}),
        ({"x.py": b"class Net(Base):\n  def fit(self): ..."}, {"part1/main.py": "x.py"}),
        ({"x.py": b"class A:\n\n  async def allreduce(): ..."}, {"naive.py": "x.py"}),
        (
            {"rings.py": b"", "other.py": b"def ringallreduce(a, b): ..."},
            {"ring.py": "other.py"},
        ),
        ({"rings.py": b""}, {"ring.py": "rings.py"}),
        ({"main.py": b""}, {}),
        ({"task1/main.py": b""}, {"part1/main.py": "task1/main.py"}),
        # A name in a call, a comment or a longer name is no definition.
        ({"x.py": b"ringallreduce(1)\n# def ringallreduce\ndef ringallreduce2(): ..."}, {}),
        # What is graded, given or hidden was not meant to be another file.
        ({"naive.py": b"def ringallreduce(): ..."}, {}),
        ({"utils.py": b"def ringallreduce(): ..."}, {}),
        ({"old/naive (1).py": b"def ringallreduce(): ..."}, {}),
        ({".x/rings.py": b"def ringallreduce(): ..."}, {}),
        # Each file is meant once.
        (
            {"x.py": b"def ringallreduce(): ...\ndef allreduce(): ..."},
            {"naive.py": "x.py"},
        ),
        ({"runs.py": b""}, {"run.py": "runs.py"}),
    ],
)
def test_what_may_have_been_meant_by_a_missing_file(files, meant):
    """By content first, and then by name."""
    assert meant_by(submissions.of_files("it", files), RING) == meant


def test_where_two_parts_call_one_function_the_nearer_name_decides():
    """Each of two files that define it is meant for the part that it is called like."""
    same = assignment(
        "same",
        part("a", "allreduce.py", entry="average()"),
        part("b", "ring.py", entry="average()"),
    )
    files = dict.fromkeys(("my_ring_mine.py", "allreduces.py"), b"def average(): ...")
    found = meant_by(submissions.of_files("it", files), same)
    assert found == {"allreduce.py": "allreduces.py", "ring.py": "my_ring_mine.py"}


def test_beside_an_unchanged_template_the_file_that_may_hold_the_work_is_named():
    """Not where the template was changed, nor a file that counts for another part."""
    placed = bundled().load("psgd_hogwild")
    part = next(each for each in placed.parts if each.name == "psgd")
    template = (placed.template / "psgd.py").read_bytes()
    work = (placed.reference / "psgd.py").read_bytes()

    def told(**files: bytes) -> str:
        named = {f"{name}.py": content for name, content in files.items()}
        return unused_text(place(submissions.of_files("it", named), placed), part)

    found = told(psgd=template, psgd_backup=work)
    assert found == "psgd_backup.py defines psgd. If it is your solution, rename it to psgd.py"
    assert told(psgd=b"x = 1", psgd_backup=work) == ""
    assert told(psgd=template, hogwild=work) == ""
    assert told(psgd=template, psgd_backup=b"psgd = 3") == ""


def test_the_sentence_about_a_missing_file_names_the_file_and_what_to_call_it():
    """Or why it was not read."""
    ring = RING.parts[1]

    def told(files: dict[str, bytes], **not_read: str) -> str:
        unread = {f"{name}.py": reason for name, reason in not_read.items()}
        found = place(submissions.of_files("it", files, unread), RING)
        return "".join(missing_text(found, ring, "ring.py"))

    defines = told({"a/solution.py": b"def ringallreduce(a, b): ..."})
    assert all(each in defines for each in ("ring.py", "a/solution.py", "ringallreduce"))
    named = told({"rings.py": b""})
    assert "ring.py" in named and "rings.py" in named
    unread = told({"naive.py": b""}, ring="is a link")
    assert "ring.py" in unread and "is a link" in unread
    assert "is a link" in told({"naive.py": b""}, Ring_1="is a link")
    assert "is a link" in told({"naive.py": b""}, rings="is a link")
    assert told({"naive.py": b""}) == "ring.py was not handed in"


def test_another_accepted_name_counts():
    """A file under its other name speaks for the assignment, once."""
    known = [LENET, MPI]
    assert recognise(handed_in("1a.py"), known).name == "lenet"
    with pytest.raises(UsageError, match="could be for lenet or mpi"):
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
    assert (named.assignment, named.is_recognised, named.named) == ("mpi_sgd", False, "mpi_sgd")


def test_a_named_assignment_decides_which_files_are_graded(tmp_path):
    """Where two folders hold the files of two assignments."""
    known = [bundled().load(each) for each in ("mpi_sgd", "vgg_ddp")]
    for folder, each in zip(("ex1", "ex2"), known, strict=True):
        for file in each.handed_in:
            (tmp_path / folder / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / folder / file).write_text("")
    for folder, each in zip(("ex1", "ex2"), known, strict=True):
        found = submissions.read(tmp_path, find_courses().wanted(each.name))
        assert place(found, each).chosen == {file: f"{folder}/{file}" for file in each.handed_in}


def test_a_missing_file_is_named_with_its_other_names():
    """The student learns all names under which it would have been found."""
    placement = place(handed_in("ring.py"), LENET)
    task = parts.GradingTask(placement, Settings(), launch=pytest.fail)
    result = parts._grade_once(task, LENET.parts[0]).result
    assert result.verdict is Verdict.NOT_ATTEMPTED
    assert result.message == "neither all.py, 1a.py, nor 2a.py was handed in"


def test_a_hostile_hand_in_takes_no_time():
    """Two thousand files with long names and no end of definitions."""
    source = b"def average_gradients2(): ...\n" * 2000
    files = {f"{number:04}{'_v__1' * 40}.py": source for number in range(2000)}
    started_s = time.perf_counter()
    with pytest.raises(UsageError):
        recognise(submissions.of_files("it", files), bundled().assignments())
    assert time.perf_counter() - started_s < 60


@pytest.mark.parametrize("entry", ["total(comm)", "my_sum.total(comm)", "Sum.total(comm)"])
def test_what_a_part_calls_may_stand_behind_its_module(entry):
    """As `grade new` writes it."""
    called = "Sum" if entry.startswith("Sum") else "total"
    asked = assignment("sums", part("sum", "my_sum.py", entry=entry))
    files = {"work.py": f"class {called}: ...".encode()}
    _, found = missing_text(
        place(submissions.of_files("it", files), asked), asked.parts[0], "my_sum.py"
    )
    assert found == (f"work.py defines {called}: rename work.py to my_sum.py")

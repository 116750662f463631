"""Each file that is handed in has a row: what it is graded as, by which rule, or why it is not."""

import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.course.assignment import Assignment
from grader.course.assignment_file import Manual, Part
from grader.course.courses import bundled
from grader.intake import submission as submissions
from grader.intake import submission_codec
from grader.intake.archives import names
from grader.intake.archives.entries import MAX_DEPTH
from grader.intake.placement.table import Placement, place
from grader.intake.submission import of_files

TEMPLATE = b"# your code\ndef ring(comm):\n    raise NotImplementedError\n"
MINE = b"def ring(comm):\n    return 1\n"


def part(name: str, *files: str, **accepted: tuple[str, ...]) -> Part:
    others = {f"{file}.py": each for file, each in accepted.items()}
    return Part(name, name, files, f"{name}(comm)", "t.py", 1, "alone", 1.0, accepted_names=others)


@pytest.fixture
def course(tmp_path: Path) -> Assignment:
    (tmp_path / "template").mkdir()
    (tmp_path / "template" / "ring.py").write_bytes(TEMPLATE)
    return Assignment(
        name="mpi",
        title="mpi",
        folder=tmp_path,
        support=("utils.py",),
        parts=(
            part("ring", "ring.py", ring=("1a.py",)),
            part("sync", "sync.py"),
            part("one", "part1/main.py"),
            part("two", "part2/main.py"),
        ),
        manual=(Manual("why", "Why", 3, "report.pdf", other_names=("hw3.pdf",)),),
        template=tmp_path / "template",
    )


def placed(course: Assignment, files: dict[str, bytes], **more) -> Placement:
    return place(of_files("it", files, **more), course)


def row_of(placement: Placement, path: str):
    (row,) = [row for row in placement.rows if row.path == path]
    return row


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("ring.py", "has that name"),
        ("a/b/c/d/ring.py", "has that name"),
        ("1a.py", "accepted"),
        ("Ring.py", "spelt"),
        ("ring (1).py", "nearly"),
        ("repo-main/src/lee_late_1_2_ring_final.py", "nearly"),
    ],
)
def test_each_rule_is_named_with_the_file(course, path, word):
    """Wherever it lies."""
    found = placed(course, {path: MINE, "x/notes.py": b""})
    assert found.chosen == {"ring.py": path}
    assert found.files == {"ring.py": MINE}
    row = row_of(found, path)
    assert (row.file, row.is_graded) == ("ring.py", True)
    assert word in row.why and "ring.py" in row.why
    other = row_of(found, "x/notes.py")
    assert (other.file, other.is_graded) == ("", False)


def test_a_script_that_runs_along_says_so(course):
    """It is used, though nobody asked for it."""
    found = placed(course, {"a/ring.py": MINE, "a/helper.py": b"", "b/other.py": b""})
    assert row_of(found, "a/helper.py").why.endswith("; the graded files can import it")
    assert row_of(found, "b/other.py").why.endswith("expected files")


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("ring.py", "a/ring.py"),
        ("a/ring.py", "a/b/ring.py"),
        ("z/ring.py", "1a.py"),
        ("z/1a.py", "Ring.py"),
        ("z/Ring.py", "ring (1).py"),
        ("ring (1).py", "a/ring (1).py"),
        ("a/ring.py", "b/ring.py"),
        ("z/ring.py", "all.ipynb/ring.py"),
        ("all.ipynb/ring.py", "a/b/ring.py"),
        ("ring.py", "old.zip/ring.py"),
    ],
)
def test_of_several_the_better_rule_counts_and_then_the_nearer(course, better, worse):
    """Both stand in the table, and the one that is not graded names the other."""
    for files in ({better: MINE, worse: b"x"}, {worse: b"x", better: MINE}):
        found = placed(course, files)
        assert found.chosen == {"ring.py": better}
        row = row_of(found, worse)
        assert (row.file, row.is_graded) == ("ring.py", False)
        assert better in row.why


def test_of_equally_near_ones_the_newest_in_its_archive_counts(course):
    """As the archive says; who says nothing comes last."""
    files = {"a/ring.py": b"1", "b/ring.py": b"2", "c/ring.py": b"3"}
    times = {"a/ring.py": 5, "b/ring.py": 7}
    assert placed(course, files, times=times).chosen == {"ring.py": "b/ring.py"}
    nearer = files | {"ring.py": b"4"}
    assert placed(course, nearer, times=times).chosen == {"ring.py": "ring.py"}


@pytest.mark.parametrize(
    "unchanged",
    [
        TEMPLATE,
        TEMPLATE.replace(b"\n", b"\r\n"),
        TEMPLATE.replace(b"\n", b"\r"),
        b"\xef\xbb\xbf" + TEMPLATE,
        TEMPLATE.replace(b"your code", b"Ann Lee"),
        TEMPLATE.replace(b"# your code\n", b""),
        b"\n\n# more\n" + TEMPLATE + b"\n  # end\n\n",
        TEMPLATE.replace(b"Error\n", b"Error  \t\n"),
        TEMPLATE.rstrip(),
        TEMPLATE.replace(b"raise", b'"""All\n    of "it".\n    """\n    raise'),
    ],
)
@pytest.mark.parametrize("changed", ["old/ring (1).py", "1a.py", "code.zip/ring.py", "z/z/RING.py"])
def test_an_unchanged_template_is_not_graded_beside_a_changed_file(course, unchanged, changed):
    """Comments, texts, empty lines and ends of lines are no change."""
    found = placed(course, {"ring.py": unchanged, changed: MINE})
    assert found.chosen == {"ring.py": changed}
    assert "template" in row_of(found, "ring.py").why
    assert found.sources_of(course.parts[0])["ring.py"] == MINE


@pytest.mark.parametrize(
    "changed",
    [
        TEMPLATE.replace(b"NotImplementedError", b"ValueError"),
        TEMPLATE.replace(b"    raise", b"  raise"),
        TEMPLATE + b"x = 1\n",
        TEMPLATE.replace(b"    raise NotImplementedError\n", b""),
        b"",
    ],
)
def test_what_differs_from_the_template_is_the_solution(course, changed):
    """However little."""
    found = placed(course, {"ring.py": TEMPLATE, "a/b/ring_final.py": changed})
    assert found.chosen == {"ring.py": "a/b/ring_final.py"}


def test_a_template_alone_is_graded(course):
    """As it is all there is."""
    assert placed(course, {"a/ring.py": TEMPLATE}).chosen == {"ring.py": "a/ring.py"}


def test_a_part_that_is_there_only_as_a_template_is_taken_from_the_folder_of_another(course):
    """Each part has a folder of its own, with the templates of all parts."""
    files = {
        "a/ring.py": MINE,
        "a/sync.py": b"from ring import ring",
        "b/ring.py": TEMPLATE,
        "b/sync.py": b"import ring",
    }
    found = placed(course, files)
    assert found.chosen == {"ring.py": "a/ring.py", "sync.py": "a/sync.py"}
    other = placed(course, {each: files[each] for each in ("a/ring.py", "b/ring.py", "b/sync.py")})
    assert other.chosen == {"ring.py": "a/ring.py", "sync.py": "b/sync.py"}
    assert other.sources_of(course.parts[1]) == {"ring.py": MINE, "sync.py": b"import ring"}


def test_parts_in_folders_of_their_own_have_their_own_helpers(course):
    """Of the same name; neither sees that of the other."""
    files = {
        "1/ring.py": b"import helper",
        "1/helper.py": b"one",
        "2/sync.py": b"import helper",
        "2/helper.py": b"two",
    }
    found = placed(course, files)
    ring, sync = found.sources_of(course.parts[0]), found.sources_of(course.parts[1])
    assert (ring["helper.py"], sync["helper.py"]) == (b"one", b"two")
    assert ring["sync.py"] == sync["sync.py"] == b"import helper"
    assert found.folder_of(["sync"]) == "2"
    assert found.folder_of([]) == "1"


@pytest.mark.parametrize("prefix", ["", "anna/", "code.zip/", "code.zip/repo-main/"])
def test_folders_of_the_assignment_keep_their_names(course, prefix):
    """What lies beside them can be imported, and the whole folder of a part is there."""
    files = {
        "part1/main.py": b"import common, layers.conv",
        "part1/layers/conv.py": b"c",
        "part1/more/other.py": b"o",
        "part2/main.py": b"2",
        "part2/helper.py": b"h",
        "common.py": b"s",
        "part1/data.csv": b"",
    }
    found = placed(course, {f"{prefix}{path}": content for path, content in files.items()})
    assert found.folder_of(["two"]) == prefix.rstrip("/")
    one = found.sources_of(course.parts[2])
    expected = {path for path in files if path.endswith(".py")} - {"part2/helper.py"}
    assert expected <= set(one)


@pytest.mark.parametrize("path", ["part1_main.py", "hw/Part 1/main.py", "Part-1/main (1).py"])
def test_a_part_under_another_folder_finds_what_lies_beside_it(course, path):
    """It is graded as the file that is asked for."""
    helper = f"{path.rpartition('/')[0]}/helper.py".lstrip("/")
    found = placed(course, {path: b"import helper", helper: b"h"})
    assert found.chosen == {"part1/main.py": path}
    sources = found.sources_of(course.parts[2])
    assert (sources["part1/main.py"], sources["helper.py"]) == (b"import helper", b"h")


def test_support_files_are_the_graders(course):
    """What is handed in under their names stands in the table and is not run."""
    found = placed(course, {"ring.py": MINE, "utils.py": b"mine", "old/utils (1).py": b"mine"})
    assert set(found.sources_of(course.parts[0])) == {"ring.py"}
    assert found.chosen == {"ring.py": "ring.py"}
    for path in ("utils.py", "old/utils (1).py"):
        assert (row_of(found, path).file, row_of(found, path).is_graded) == ("", False)
        assert "utils.py" in row_of(found, path).why


@pytest.mark.parametrize("path", ["report.pdf", "a/b/Report (1).pdf", "hw3.pdf", "lee_1_2_hw3.PDF"])
def test_documents_are_placed_too(course, path):
    """For the person who will read them."""
    found = placed(course, {path: b"%PDF", "ring.py": MINE})
    assert found.chosen == {"ring.py": "ring.py", "report.pdf": path}
    assert row_of(found, path).is_graded
    assert set(found.sources) == {"ring.py"}


def test_what_was_not_read_says_for_which_file_and_why(course):
    """Also where another file is graded."""
    not_read = {
        "ring.py": "is a link",
        "data.bin": "is not of a type",
        "part1/Main.py": "is a link",
    }
    found = placed(course, {"a/1a.py": MINE}, not_read=not_read)
    assert found.chosen == {"ring.py": "a/1a.py"}
    rows = {path: row_of(found, path) for path in not_read}
    files = {"ring.py": "ring.py", "data.bin": "", "part1/Main.py": "part1/main.py"}
    assert {path: row.file for path, row in rows.items()} == files
    assert not any(row.is_graded for row in rows.values())
    assert all(not_read[path] in row.why for path, row in rows.items())


def test_a_plain_hand_in_needs_no_note(course):
    """One folder, with the names that are asked for, and other files beside them."""
    files = {"ring.py": MINE, "sync.py": b"import x", "part1/main.py": b"", "x.py": b""}
    assert placed(course, files).notes == ()
    assert placed(course, {f"a/{path}": each for path, each in files.items()}).notes == ()


def test_what_nobody_asked_for_is_a_note(course):
    """A file that is no program, and a program that none of the graded ones imports."""
    files = {"ring.py": MINE + b"\nfrom tools import sums\n", "tools/__init__.py": b""}
    files |= {"tools/sums.py": b"", "helper.py": b"", "notes.txt": b"x"}
    told = placed(course, files).notes
    expected = ("not expected, and not graded: notes.txt", "no graded file imports: helper.py")
    assert told == expected


def test_what_is_out_of_the_ordinary_is_a_note(course):
    """What was graded under another name, other versions, and what alone was handed in unread."""
    renamed = placed(course, {"ring (1).py": MINE})
    assert [note.split(" is ")[0] for note in renamed.notes] == ["ring (1).py"]
    twice = placed(course, {"ring.py": MINE, "old/ring.py": b"x", "same/ring.py": MINE})
    assert [note.split()[0] for note in twice.notes] == ["old/ring.py"]
    unread = placed(course, {"ring.py": MINE}, not_read={"sync.py": "is a link"})
    assert [note.split()[0] for note in unread.notes] == ["sync.py"]
    many = placed(course, {"ring.py": MINE} | {f"{each}/ring.py": b"x" for each in range(50)})
    assert len(many.notes) < 15


def test_the_same_file_is_graded_in_whatever_order_it_is_told(course):
    """Rows are sorted, the nearest first."""
    files = {"b/ring.py": b"1", "a/ring.py": b"2", "sync.py": b"3", "a/b/c.py": b""}
    found = placed(course, files)
    assert found == placed(course, dict(reversed(files.items())))
    assert [row.path for row in found.rows] == ["sync.py", "a/ring.py", "b/ring.py", "a/b/c.py"]


@pytest.mark.parametrize("name", bundled().names())
@pytest.mark.parametrize("prefix", ["", "deep/down/here/", "code.zip/"])
def test_the_reference_is_placed_and_beats_the_template(name, prefix):
    """Of each bundled assignment, wherever it lies."""
    own = bundled().load(name)
    reference = {f"{prefix}{file}": (own.reference / file).read_bytes() for file in own.handed_in}
    template = {f"t/{file}": (own.template / file).read_bytes() for file in own.handed_in}
    found = place(of_files("it", reference | template), own)
    assert found.files == {file: reference[f"{prefix}{file}"] for file in own.handed_in}
    for part in own.parts:
        sources = found.sources_of(part)
        assert {file: sources[file] for file in part.files} == {
            file: reference[f"{prefix}{file}"] for file in part.files
        }


NAMES = st.one_of(
    st.sampled_from(
        [
            *("ring.py", "Ring (1).py", "sync.py", "part1", "main.py", "report.pdf", "utils.py"),
            *("data.csv", ".hidden", "old", "x.zip", "a.rar", "notes.txt", "all.ipynb", "Makefile"),
            *("é.py", "a\nb.py", "C:", "x" * 260, ".git", "__pycache__", "venv", "y" * 250),
        ]
    ),
    st.text("abc._- 1", min_size=1, max_size=6),
)
PATHS = (
    st.lists(NAMES, min_size=1, max_size=14)
    .map("/".join)
    .filter(lambda path: set(path) - {".", "/"})
)
CELL = {"cell_type": "code", "source": "%%writefile ring.py\nx"}
CONTENTS = st.sampled_from([b"", b"x = 1", TEMPLATE, json.dumps({"cells": [CELL]}).encode()])
TREES = st.dictionaries(PATHS, CONTENTS, min_size=1, max_size=8)
QUICK = settings(
    deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def zip_of(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def tar_of(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def is_told(path: str, told: set[str]) -> bool:
    """Return whether a file is in the table, or a folder of a tool, a bad name, or too far down."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if {"/".join(parts), names.shown(parts)} & told:
        return True
    return any(
        names.shown(parts[:depth]) in told
        for depth in range(1, len(parts))
        if names.is_skipped(parts[depth - 1])
        or names.problem_of(parts[:depth])
        or depth == MAX_DEPTH
    )


@QUICK
@given(tree=TREES, inner=TREES, how=st.sampled_from(["zip", "tar", "folder"]))
def test_no_file_that_was_handed_in_is_missing(course, tmp_path_factory, tree, inner, how):
    """Of any tree in any form, with an archive in it: each file has exactly one row.

    All of it survives packing and unpacking, whatever the files are called.
    """
    place_ = tmp_path_factory.mktemp("it")
    files = {**tree, "in.zip": zip_of(inner), "in.tar": tar_of(inner), "of its own.py": b"x"}
    if how == "folder":
        files = {name: each for name, each in files.items() if written(place_, name, each)}
    else:
        place_ /= "it"
        place_.write_bytes((zip_of if how == "zip" else tar_of)(files))
    read = submissions.read(place_, course.wanted)
    message = b"".join(submission_codec.pack(submission_codec.of_submission(read)))
    assert submission_codec.submission_of(read.origin, submission_codec.unpack(message)) == read
    found = place(read, course)
    told = [row.path for row in found.rows]
    assert len(told) == len(set(told))
    for path in files:
        assert is_told(path, {*told}), path
    for path in inner:
        for archive in ("in.zip", "in.tar"):
            inside = {each.removeprefix(f"{archive}/") for each in told if each != archive}
            assert is_told(path, inside), path
    graded = [row for row in found.rows if row.is_graded]
    assert {row.file: row.path for row in graded} == found.chosen


def written(root: Path, name: str, content: bytes) -> bool:
    if ".." in name.split("/"):
        return False
    try:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        with (root / name).open("xb") as file:
            file.write(content)
    except (OSError, ValueError):
        return False  # a name that this system does not take, or taken already
    return True

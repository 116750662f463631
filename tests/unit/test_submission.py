"""What counts as handed in: from a folder, a zip, a stream or a notebook."""

import io
import json
import os
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest
from archives import member, tar_of, zip_of

from grader import submission as submissions
from grader.errors import UsageError
from grader.intake import stream, submission_codec
from grader.submission import Submission

FLAT = ("ring.py", "sync.py", "fed.py")
NESTED = ("part1/main.py", "part2a/main.py")
WANTED = [*FLAT, *NESTED]


def in_folder(root: Path, files: dict[str, bytes]) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


def in_zip(root: Path, files: dict[str, bytes]) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(root / "handed-in.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return root / "handed-in.zip"


def read(tmp_path: Path, files: dict[str, bytes], how: str = "folder") -> Submission:
    make = in_zip if how == "zip" else in_folder
    found = submissions.read(make(tmp_path / "it", files), WANTED)
    return arrived(found) if how == "stream" else found


def arrived(found: Submission) -> Submission:
    """Return what the container makes of what `grade run` sends."""
    sent = submission_codec.unpack(stream.read_submission(io.BytesIO(stream.pack(found))))
    return submission_codec.submission_of(found.origin, sent)


def notebook(**cells: str) -> bytes:
    """Return a notebook whose cells write these files: `fed="x"` writes fed.py."""
    sources = [f"%%writefile {name}.py\n{text}" for name, text in cells.items()]
    return json.dumps(
        {"cells": [{"cell_type": "code", "source": source} for source in sources]}
    ).encode()


EVERY_WAY = pytest.mark.parametrize("how", ["folder", "zip", "stream"])


@EVERY_WAY
@pytest.mark.parametrize("folder", ["", "anna/"])
def test_files_may_lie_in_the_root_or_one_folder_down(tmp_path, how, folder):
    """Flat and nested files alike, under the paths that the assignment asks for."""
    handed_in = {"ring.py": b"1", "report.pdf": b"2", "part1/main.py": b"3", "part1/model.py": b"4"}
    found = read(tmp_path, {f"{folder}{name}": each for name, each in handed_in.items()}, how)
    assert dict(found.files) == dict(sorted(handed_in.items()))
    assert found.source_files(["part1/model.py"]) == {"part1/main.py": b"3", "ring.py": b"1"}


@EVERY_WAY
def test_only_scripts_beside_wanted_ones_are_taken_from_folders(tmp_path, how):
    """A folder of data or of old versions is not part of the submission."""
    handed_in = {
        "ring.py": b"1",
        "old/ring.py": b"2",
        "data/digits.csv": b"3",
        "part1/main.py": b"4",
        "part1/data/batch": b"5",
        "part1/layers/conv.py": b"6",
        "part2b/main.py": b"7",
    }
    expected = ["part1/layers/conv.py", "part1/main.py", "ring.py"]
    assert list(read(tmp_path, handed_in, how).files) == expected


@EVERY_WAY
@pytest.mark.parametrize("folder", ["", "anna/"])
@pytest.mark.parametrize(
    "line",
    [
        "from utils.train import loop",
        "import utils",
        "import numpy as np, utils.train as train",
        "sys.path.append('../utils')",
        "importlib.import_module('utils.train')",
        "from utils import (\n    train,\n)",
        "sys.path.append(str(HERE)); import train",
    ],
)
def test_what_is_imported_from_another_folder_is_taken(tmp_path, how, folder, line):
    """By the name of the folder or of the script; with what it imports in its turn."""
    handed_in = {
        "part2a/main.py": line.encode(),
        "utils/train.py": b"from shared.deep.layers import conv",
        "utils/weights.bin": b"2",
        "shared/deep/layers/conv.py": b"3",
        "notes/scratch.py": b"4",
    }
    found = read(tmp_path, {f"{folder}{name}": each for name, each in handed_in.items()}, how)
    assert list(found.files) == ["part2a/main.py", "shared/deep/layers/conv.py", "utils/train.py"]
    assert found.notes == ()


def test_another_version_of_a_script_is_no_helper(tmp_path):
    """Though the folder of the submission holds one of that name, which others import."""
    handed_in = {"ring.py": b"", "sync.py": b"from ring import go", "old/ring.py": b"x"}
    found = read(tmp_path, handed_in)
    assert list(found.files) == ["ring.py", "sync.py"]


def test_of_very_many_helpers_the_nearest_are_taken(tmp_path):
    """A whole environment in a folder is no reason to grade nothing."""
    many = {f"env/lib/{number:04}.py": b"" for number in range(3000)}
    found = read(tmp_path, {"ring.py": b"import env.near", "env/near.py": b"", **many}, "zip")
    assert len(found.files) == 501
    assert "env/near.py" in found.files


@EVERY_WAY
def test_of_two_folders_with_the_same_files_both_are_named(tmp_path, how):
    """The one that was graded, and the one that was not."""
    files = {"part1/main.py": b"1", "part2a/main.py": b"2"}
    handed_in = {f"{each}/{name}": b for each in ("worker", "master") for name, b in files.items()}
    found = read(tmp_path, {**handed_in, "worker/notes.txt": b"", "figures/x.py": b""}, how)
    assert found.notes == (
        "the folder master was graded and the folder worker was not: both hold part1/main.py, "
        "part2a/main.py; hand in one of them",
    )
    assert dict(found.files) == files


def test_a_folder_with_some_of_the_same_files_is_named_too(tmp_path):
    """Beside the outermost folder, which holds more of them."""
    many = {f"v{number}/{name}": b"" for number in range(5) for name in FLAT[:2]}
    found = read(tmp_path, {**dict.fromkeys(FLAT, b""), **many})
    assert found.notes[0] == (
        "the outermost folder was graded and the folder v0 was not: both hold ring.py, sync.py; "
        "hand in one of them"
    )
    assert found.notes[3:] == ("2 further folders hold such files, and were not graded",)


@EVERY_WAY
def test_what_was_found_is_known_the_nearest_first(tmp_path, how):
    """For the sentence about a folder that is nobody's; hidden files are not worth a word."""
    handed_in = {"Part 2a/main.py": b"", ".env": b"", ".vscode/x.json": b"", "a/b/c.txt": b""}
    assert read(tmp_path, handed_in, how).found == ("Part 2a/main.py", "a/b/c.txt")


@EVERY_WAY
def test_the_folder_with_most_of_the_files_counts(tmp_path, how):
    """The root when it holds as many as any other."""
    more = {"ring.py": b"old", "new/ring.py": b"new", "new/sync.py": b"new"}
    assert set(read(tmp_path, more, how).files.values()) == {b"new"}
    equal = {"ring.py": b"root", "other/ring.py": b"other"}
    assert dict(read(tmp_path / "b", equal, how).files) == {"ring.py": b"root"}


def test_without_any_wanted_file_the_root_counts_or_else_the_first_folder(tmp_path):
    """So that the message can name what was found."""
    assert list(read(tmp_path / "a", {"x.py": b"", "z/y.py": b""}).files) == ["x.py"]
    assert list(read(tmp_path / "b", {"z/y.py": b"", "q/w.py": b""}).files) == ["w.py"]


@EVERY_WAY
def test_nothing_is_read_further_down(tmp_path, how):
    """Three levels: a folder, a folder of the assignment, a file."""
    deep = {"a/b/c/ring.py": b"1", "a/b/c/d/e.py": b"2", "x.py": b""}
    assert list(read(tmp_path, deep, how).files) == ["x.py"]


@pytest.mark.parametrize("how", ["folder", "zip"])
def test_what_lies_too_far_down_is_named(tmp_path, how):
    """The nearest place of each file that is missing, also where a notebook writes it."""
    handed_in = {
        "stud/hw/ring.py": b"",
        "stud/hw/old/ring.py": b"",
        "stud/hw/all.ipynb": notebook(fed="f"),
        "stud/sync.py": b"",
        "stud/hw/sync.py": b"",
    }
    found = read(tmp_path, handed_in, how)
    assert list(found.files) == ["sync.py"]
    assert found.notes == (
        "stud/hw/fed.py, which a notebook writes, was not read: it lies 2 folders down; expected "
        "is fed.py in the root or one folder down",
        "stud/hw/ring.py was not read: it lies 2 folders down; expected is ring.py in the root or "
        "one folder down",
    )


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../../ring.py", "would lie outside of the submission"),
        ("../ring.py", "would lie outside of the submission"),
        ("a/../../ring.py", "would lie outside of the submission"),
        ("/home/anna/ring.py", "would lie outside of the submission"),
        ("D:/hw/ring.py", "has a name that begins with a drive of some systems, D:"),
    ],
)
@pytest.mark.parametrize("how", ["zip", "tar", "pax"])
def test_a_missing_file_that_cannot_be_taken_is_told_for_its_own_reason(tmp_path, how, name, why):
    """Not as one that lies too far down, wherever its path is written."""
    if how == "zip":
        content = zip_of((name, b"1"), ("sync.py", b"2"))
    elif how == "tar":
        content = tar_of((name, b"1"), ("sync.py", b"2"))
    else:
        moved = member("plain.py", pax_headers={"path": name})
        content = tar_of(moved, ("sync.py", b"2"), format=tarfile.PAX_FORMAT)
    (tmp_path / "it").write_bytes(content)
    found = submissions.read(tmp_path / "it", ["ring.py", "sync.py"])
    assert list(found.files) == ["sync.py"]
    assert found.notes == (f"{name} was not read: it {why}",)


@pytest.mark.parametrize("how", ["folder", "zip", "tar", "notebook"])
@pytest.mark.parametrize("name", ["C:ring", "c:hw/ring"])
def test_a_drive_is_no_name_in_any_form(tmp_path, how, name):
    """One rule for names, whatever brings them."""
    place, cell, name = tmp_path / "it", name, f"{name}.py"
    if how == "folder":
        (place / name).parent.mkdir(parents=True)
        (place / name).write_bytes(b"1")
        (place / "sync.py").write_bytes(b"2")
    elif how == "notebook":
        place.mkdir()
        (place / "all.ipynb").write_bytes(notebook(**{cell: "f"}, sync="g"))
    else:
        pack = zip_of if how == "zip" else tar_of
        place.write_bytes(pack((name, b"1"), ("sync.py", b"2")))
    found = submissions.read(place, ["ring.py", "sync.py", name])
    assert "sync.py" in found.files
    assert not [each for each in found.files if ":" in each]
    assert any(name.partition("/")[0] in note for note in found.notes), found.notes


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("folder", "stud/hw/a/b/c is a folder too far down, expected are files in the root or one"),
        ("zip", r"stud/hw/a/b/c/ring\.py lies 5 folders down, expected are files in the root or"),
    ],
)
def test_nothing_but_files_too_far_down_is_not_called_empty(tmp_path, how, sentence):
    """The sentence names the first of them."""
    with pytest.raises(UsageError, match=f"holds no file that is read: {sentence}"):
        read(tmp_path, {"stud/hw/a/b/c/ring.py": b""}, how)


@pytest.mark.parametrize("path", ["a" * 300, "b/" * 3000], ids=["long name", "long path"])
def test_a_path_that_the_system_refuses_is_bad_usage(path):
    """And does not fill the screen."""
    with pytest.raises(UsageError, match="cannot be read: File name too long; name") as error:
        submissions.read(Path(path), WANTED)
    assert len(str(error.value)) < 400


@pytest.mark.parametrize("how", ["folder", "zip"])
@pytest.mark.parametrize("folder", [".git", ".ipynb_checkpoints", "__pycache__", "venv"])
def test_folders_of_tools_are_skipped(tmp_path, how, folder):
    """They can hold copies of the files with more matches."""
    handed_in = {f"{folder}/ring.py": b"", f"{folder}/sync.py": b"", "ring.py": b"mine"}
    assert dict(read(tmp_path, handed_in, how).files) == {"ring.py": b"mine"}


def test_links_are_not_followed(tmp_path):
    """Neither to files nor to folders."""
    root = in_folder(tmp_path / "it", {"sync.py": b"1"})
    secret = in_folder(tmp_path / "elsewhere", {"ring.py": b"secret"})
    (root / "ring.py").symlink_to(secret / "ring.py")
    (root / "part1").symlink_to(secret)
    assert list(submissions.read(root, WANTED).files) == ["sync.py"]


def test_a_zip_may_have_separators_of_another_system(tmp_path):
    """Some programs write backslashes."""
    found = read(tmp_path, {"anna\\part1\\main.py": b"1"}, "zip")
    assert dict(found.files) == {"part1/main.py": b"1"}


@pytest.mark.parametrize("name", ["../ring.py", "/ring.py", "a/../../ring.py", "..\\ring.py"])
def test_a_zip_that_leads_elsewhere_leads_nowhere(tmp_path, name):
    """Such a member is not there."""
    assert list(read(tmp_path, {name: b"1", "sync.py": b"2"}, "zip").files) == ["sync.py"]


def test_a_zip_that_is_damaged_inside_is_one_sentence(tmp_path):
    """The list of files is whole, one of the files is not."""
    path = in_zip(tmp_path / "it", {"ring.py": b"x" * 50})
    content = path.read_bytes()
    path.write_bytes(content.replace(b"x" * 50, b"y" * 50))
    with pytest.raises(UsageError, match=r"ring\.py in it cannot be unpacked .* make the zip aga"):
        submissions.read(path, WANTED)


def test_a_name_that_is_a_file_and_a_folder_in_a_zip_is_a_file(tmp_path):
    """What lies below it has no place to be."""
    found = read(tmp_path, {"part1": b"", "part1/main.py": b"", "ring.py": b""}, "zip")
    assert list(found.files) == ["part1", "ring.py"]


def test_a_file_that_is_too_large_is_not_read_and_named(tmp_path, monkeypatch):
    """The rest is graded."""
    monkeypatch.setattr(submissions, "MAX_FILE_NUM_BYTES", 10)
    found = read(tmp_path, {"ring.py": b"1", "video.mp4": bytes(11), "data/huge": bytes(11)})
    assert list(found.files) == ["ring.py"]
    assert found.notes == ("video.mp4 was not read: it is larger than 0 MiB",)


def test_too_much_in_all_is_one_sentence(tmp_path, monkeypatch):
    """A zip can announce more than there is memory."""
    monkeypatch.setattr(submissions, "MAX_TOTAL_NUM_BYTES", 10)
    with pytest.raises(UsageError, match="add up to more than 0 MiB; leave data files out"):
        read(tmp_path, {"ring.py": bytes(6), "sync.py": bytes(6)}, "zip")


def test_only_files_that_are_too_large_are_one_sentence(tmp_path, monkeypatch):
    """As nothing is left to grade."""
    monkeypatch.setattr(submissions, "MAX_FILE_NUM_BYTES", 10)
    with pytest.raises(UsageError, match=r"no script that is read: all\.tar is larger than 0 MiB"):
        read(tmp_path, {"all.tar": bytes(11)})


def test_a_folder_that_cannot_be_read_is_named(tmp_path):
    """Not silently taken for an empty one."""
    root = in_folder(tmp_path / "it", {"part1/main.py": b"", "ring.py": b""})
    (root / "part1").chmod(0)
    try:
        list((root / "part1").iterdir())
    except PermissionError:
        with pytest.raises(UsageError, match="part1 cannot be read; check its permissions"):
            submissions.read(root, WANTED)
    finally:
        (root / "part1").chmod(stat.S_IRWXU)


def test_the_digest_depends_on_names_and_contents_alone(tmp_path):
    """The same files give the same digest from a folder, a zip and a stream."""
    files = {"ring.py": b"1", "part1/main.py": b"2"}
    ways = [read(tmp_path / how, files, how).digest for how in ("folder", "zip", "stream")]
    assert len(set(ways)) == 1
    assert read(tmp_path / "b", {**files, "ring.py": b"3"}).digest != ways[0]
    assert read(tmp_path / "c", {"ring.py": b"1", "part2a/main.py": b"2"}).digest != ways[0]


@EVERY_WAY
@pytest.mark.parametrize("folder", ["", "anna/"])
def test_a_notebook_is_read_for_the_files_it_writes(tmp_path, how, folder):
    """And the report says so."""
    found = read(tmp_path, {f"{folder}all.ipynb": notebook(fed="f", ring="r", helper="h")}, how)
    assert found.source_files([]) == {"fed.py": b"f\n", "helper.py": b"h\n", "ring.py": b"r\n"}
    assert found.from_notebooks == {"fed.py", "helper.py", "ring.py"}
    assert found.notes == ("read from the cells of all.ipynb: fed.py, helper.py, ring.py",)


@pytest.mark.parametrize(
    "names",
    [
        ("ring.py", "all.ipynb"),
        ("hw/part1/main.py", "hw/part1/ring.py", "hw/part1/sync.py"),
        ("hw/part1/main.py", "hw/part1/all.ipynb"),
    ],
)
def test_both_doors_grade_the_same(tmp_path, names):
    """Which files count is not asked again of what is left of them."""
    contents = {name: notebook(fed="f") if "ipynb" in name else b"" for name in names}
    here = read(tmp_path, contents)
    assert {"ring.py", "part1/main.py"} & set(here.files)
    assert arrived(here) == here


def test_loose_scripts_win_over_a_notebook(tmp_path):
    """What differs is said; what is the same needs no word."""
    loose = {"fed.py": b"loose", "ring.py": b"r\n"}
    found = read(tmp_path, {"all.ipynb": notebook(fed="f", ring="r", sync="s"), **loose})
    assert found.files["fed.py"] == b"loose"
    assert found.notes == (
        "read from the cells of all.ipynb: sync.py",
        "not read from the cells of all.ipynb, as handed in elsewhere: fed.py",
    )


def test_loose_scripts_in_a_folder_win_over_a_notebook_beside_it(tmp_path):
    """When there are as many of them."""
    handed_in = {"all.ipynb": notebook(fed="f"), "scripts/fed.py": b"loose"}
    assert dict(read(tmp_path, handed_in).files) == {"fed.py": b"loose"}


@EVERY_WAY
def test_of_many_notebooks_the_nearest_are_read(tmp_path, how):
    """And it is said that others were not, but nothing of those that cannot count."""
    lectures = {f"nbs/lectures/{number:02}.ipynb": b"{}" for number in range(20)}
    found = read(tmp_path, {**lectures, "nbs/task.IPYNB": notebook(fed="f")}, how)
    assert found.files["fed.py"] == b"f\n"
    assert found.notes == (
        "read from the cells of task.IPYNB: fed.py",
        "of 21 notebooks only 20 were read, the nearest ones",
    )


def test_of_two_notebooks_the_one_with_more_of_the_files_wins(tmp_path):
    """And what the other would have written is said."""
    handed_in = {"a.ipynb": notebook(fed="a", ring="a"), "b.ipynb": notebook(fed="b")}
    found = read(tmp_path, handed_in)
    assert found.source_files([]) == {"fed.py": b"a\n", "ring.py": b"a\n"}
    assert found.notes[1] == "not read from the cells of b.ipynb, as handed in elsewhere: fed.py"


def test_a_notebook_for_trying_things_out_is_no_matter(tmp_path):
    """Nothing is said of it where the files are there."""
    handed_in = {"try.ipynb": notebook(), "ring.py": b""}
    assert read(tmp_path, handed_in).notes == ()


def test_a_broken_notebook_is_ignored_with_a_note(tmp_path):
    """The scripts beside it are graded."""
    found = read(tmp_path, {"broken.ipynb": b"[" * 100_000, "ring.py": b""})
    assert "ring.py" in found.files
    assert found.notes[0].startswith("broken.ipynb is not a notebook that can be read")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{", r"holds only all\.ipynb, which is not a notebook that can be read"),
        (
            notebook(),
            r"holds only all\.ipynb, which has no cell that begins with %%writefile; hand",
        ),
    ],
)
def test_nothing_but_a_notebook_without_files_is_bad_usage(tmp_path, content, sentence):
    """One sentence says what a notebook has to look like."""
    with pytest.raises(UsageError, match=sentence):
        read(tmp_path, {"all.ipynb": content})


def test_a_notebook_cannot_write_outside_its_folder(tmp_path):
    """The refusal is a note."""
    cell = {"cell_type": "code", "source": "%%writefile ../ring.py\nx"}
    content = json.dumps({"cells": [cell]}).encode()
    found = read(tmp_path, {"all.ipynb": content, "sync.py": b""})
    assert "ring.py" not in found.files


def packed(name: str, how: int = zipfile.ZIP_DEFLATED) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", how) as writing:
        writing.writestr(name, "x = 1\n")
        writing.writestr("ring.py", "x = 1\n")
    return archive.getvalue()


def corrupted(content: bytes, old: bytes, new: bytes) -> bytes:
    assert old in content
    return content.replace(old, new)


@pytest.mark.parametrize(
    "content",
    [
        packed("ring_.py", zipfile.ZIP_BZIP2),
        packed("ring_.py", zipfile.ZIP_LZMA),
        corrupted(packed("r\u00e9sum\u00e9.py"), "r\u00e9".encode(), b"r\xff\xfe"),
        corrupted(packed("ring_.py"), b"PK\x01\x02\x14\x03\x14", b"PK\x01\x02\x14\x03\x63"),
    ],
)
def test_a_zip_that_cannot_be_read_is_bad_usage(tmp_path, content):
    """Whatever zipfile says of it, and bombs of packings that unpack without measure."""
    path = tmp_path / "handed-in.zip"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="zip"):
        submissions.read(path, ["ring.py", "ring_.py"])


def test_what_is_no_folder_and_no_file_is_bad_usage():
    """A device, say."""
    with pytest.raises(UsageError, match="neither a folder nor a zip"):
        submissions.read(Path("/dev/null"), ["ring.py"])


def test_names_that_no_text_can_hold_are_left_out(tmp_path):
    """Of another century's encoding, and longer than a file system takes."""
    (tmp_path / "ring.py").write_text("x = 1\n")
    (tmp_path / os.fsdecode(b"r\xe9sum\xe9.txt")).write_text("x")
    long = f"{'a' * 300}.py"
    cell = {"cell_type": "code", "source": f"%%writefile {long}\nx"}
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": [cell]}))
    assert set(submissions.read(tmp_path, ["ring.py"]).files) == {"n.ipynb", "ring.py"}

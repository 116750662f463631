"""What counts as handed in: from a folder, a zip, a stream or a notebook."""

import codecs
import io
import json
import os
import shutil
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest
from archives import member, tar_of, zip_of

from grader.grading_plugin.case_evidence import source_excerpts
from grader.intake import stream
from grader.intake import submission as submissions
from grader.intake.submission import Submission
from grader.model.errors import UsageError

FLAT = ("ring.py", "sync.py", "fed.py")
NESTED = ("part1/main.py", "part2a/main.py")
WANTED = [*FLAT, *NESTED, "report.pdf"]


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
    return stream.read_submission(io.BytesIO(stream.pack(found)), found.origin)


def notebook(**cells: str) -> bytes:
    """Return a notebook whose cells write these files: `fed="x"` writes fed.py."""
    sources = [f"%%writefile {name}.py\n{text}" for name, text in cells.items()]
    return json.dumps(
        {"cells": [{"cell_type": "code", "source": source} for source in sources]}
    ).encode()


EVERY_WAY = pytest.mark.parametrize("how", ["folder", "zip", "stream"])


@EVERY_WAY
@pytest.mark.parametrize("folder", ["", "anna/", "a/b/c/d/"])
def test_everything_that_may_be_asked_for_is_read_by_its_path(tmp_path, how, folder):
    """Scripts, and files of the kinds of those that are asked for, wherever they lie."""
    handed_in = {"ring.py": b"1", "report.pdf": b"2", "part1/main.py": b"3", "old/RING.PY": b"4"}
    handed_in = {f"{folder}{name}": content for name, content in handed_in.items()}
    found = read(tmp_path, {**handed_in, "data/digits.csv": b"5", "Makefile": b""}, how)
    assert found.files == handed_in
    assert set(found.not_read) == {"data/digits.csv", "Makefile"}
    assert all("type" in reason for reason in found.not_read.values())
    assert found.notes == ()


@EVERY_WAY
def test_of_too_many_files_the_nearest_are_read(tmp_path, how, monkeypatch):
    """And the others are named, until these are too many as well."""
    monkeypatch.setattr(submissions, "MAX_FILES", 3)
    monkeypatch.setattr(submissions, "MAX_NOT_READ", 4)
    many = {f"env/{number}.py": b"" for number in range(9)}
    found = read(tmp_path, {**many, "ring.py": b""}, how)
    assert list(found.files) == ["env/0.py", "env/1.py", "ring.py"]
    assert len(found.not_read) == 4
    assert all("exceeds the limit of" in reason for reason in found.not_read.values())
    assert any(note.endswith("not listed: 3") for note in found.notes)


@pytest.mark.parametrize("name", ["ring.py", "ring (1).py", "SOLUTION.PY"])
def test_a_single_script_is_a_hand_in(tmp_path, name):
    """Whatever its name."""
    (tmp_path / name).write_bytes(b"1")
    assert submissions.read(tmp_path / name, WANTED).files == {name: b"1"}


def test_a_single_notebook_is_a_hand_in(tmp_path):
    """Its cells are read."""
    (tmp_path / "all.ipynb").write_bytes(notebook(fed="f"))
    found = submissions.read(tmp_path / "all.ipynb", WANTED)
    assert found.files == {"all.ipynb/fed.py": b"f\n"}


@pytest.mark.parametrize("name", ["a\nb.py", "a\u202eb.py", "c:b.py", ".ring.py"])
def test_a_single_script_has_a_plain_name(tmp_path, name):
    """As it has in a folder."""
    (tmp_path / name).write_bytes(b"1")
    with pytest.raises(UsageError, match=r"no readable script|is empty"):
        submissions.read(tmp_path / name, WANTED)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../../ring.py", "would be outside the submission"),
        ("../ring.py", "would be outside the submission"),
        ("a/../../ring.py", "would be outside the submission"),
        ("/home/anna/ring.py", "would be outside the submission"),
        ("D:/hw/ring.py", "has a name that begins with a drive letter, D:"),
    ],
)
@pytest.mark.parametrize("how", ["zip", "tar", "pax"])
def test_a_file_that_cannot_be_taken_has_its_own_reason(tmp_path, how, name, why):
    """Wherever its path is written."""
    if how == "zip":
        content = zip_of((name, b"1"), ("sync.py", b"2"))
    elif how == "tar":
        content = tar_of((name, b"1"), ("sync.py", b"2"))
    else:
        moved = member("plain.py", pax_headers={"path": name})
        content = tar_of(moved, ("sync.py", b"2"), format=tarfile.PAX_FORMAT)
    (tmp_path / "it").write_bytes(content)
    found = submissions.read(tmp_path / "it", ["ring.py", "sync.py"])
    assert found.files == {"sync.py": b"2"}
    assert found.not_read == {name: why}


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
    assert any(each.endswith("sync.py") for each in found.files)
    assert not [each for each in found.files if ":" in each]
    told = [*found.not_read, *found.not_read.values()]
    assert any(name.partition("/")[0] in each for each in told), told


@pytest.mark.parametrize("how", ["folder", "zip"])
def test_nothing_but_files_too_far_down_is_not_called_empty(tmp_path, how):
    """The sentence names the first of them."""
    deep = "/".join("abcdefghijkl")
    with pytest.raises(UsageError, match=r"no readable script: a/b/.* is 1[12] folders"):
        read(tmp_path, {f"{deep}/ring.py": b""}, how)
    found = read(tmp_path / "b", {f"{deep}/ring.py": b"", "sync.py": b""}, how)
    assert list(found.files) == ["sync.py"]
    (path,) = found.not_read
    assert path.startswith(deep)


@pytest.mark.parametrize("how", ["folder", "zip", "tar"])
@pytest.mark.parametrize("files", [{".git/x": b""}, {".env": b""}, {"__MACOSX/ring.py": b""}])
def test_nothing_at_all_is_called_empty(tmp_path, how, files):
    """Hidden files, and what tools have left, are nothing."""
    place = tmp_path / "it"
    if how == "folder":
        in_folder(place, files)
    else:
        place.write_bytes((zip_of if how == "zip" else tar_of)(*files.items()))
    with pytest.raises(UsageError, match="is empty"):
        submissions.read(place, WANTED)


@pytest.mark.parametrize("path", ["a" * 300, "b/" * 3000], ids=["long name", "long path"])
def test_a_path_that_the_system_refuses_is_bad_usage(path):
    """And does not fill the screen."""
    with pytest.raises(UsageError, match="cannot be read: File name too long; name") as error:
        submissions.read(Path(path), WANTED)
    assert len(str(error.value)) < 400


@pytest.mark.parametrize("how", ["folder", "zip"])
@pytest.mark.parametrize("folder", [".git", ".ipynb_checkpoints", "__pycache__", "venv"])
def test_folders_of_tools_are_skipped(tmp_path, how, folder):
    """They can hold copies of the files; each is one row of the table."""
    handed_in = {f"a/{folder}/ring.py": b"", f"a/{folder}/x/sync.py": b"", "ring.py": b"mine"}
    found = read(tmp_path, handed_in, how)
    assert found.files == {"ring.py": b"mine"}
    assert set(found.not_read) == {f"a/{folder}"}


def test_links_are_not_followed(tmp_path):
    """Neither to files nor to folders."""
    root = in_folder(tmp_path / "it", {"sync.py": b"1"})
    secret = in_folder(tmp_path / "elsewhere", {"ring.py": b"secret"})
    (root / "ring.py").symlink_to(secret / "ring.py")
    (root / "part1").symlink_to(secret)
    (root / ".venv").symlink_to(secret)
    found = submissions.read(root, WANTED)
    assert found.files == {"sync.py": b"1"}
    assert set(found.not_read) == {"ring.py", "part1", ".venv"}
    assert "link" in found.not_read["ring.py"]


def test_a_zip_may_have_separators_of_another_system(tmp_path):
    """Some programs write backslashes."""
    found = read(tmp_path, {"anna\\part1\\main.py": b"1"}, "zip")
    assert found.files == {"anna/part1/main.py": b"1"}


@pytest.mark.parametrize("name", ["../ring.py", "/ring.py", "a/../../ring.py", "..\\ring.py"])
def test_a_zip_that_leads_elsewhere_leads_nowhere(tmp_path, name):
    """Such a member is only told of."""
    found = read(tmp_path, {name: b"1", "sync.py": b"2"}, "zip")
    assert found.files == {"sync.py": b"2"}
    assert found.not_read == {name.replace("\\", "/"): "would be outside the submission"}


def test_a_zip_that_is_damaged_inside_is_one_sentence(tmp_path):
    """The list of files is whole, one of the files is not."""
    path = in_zip(tmp_path / "it", {"ring.py": b"x" * 50})
    content = path.read_bytes()
    path.write_bytes(content.replace(b"x" * 50, b"y" * 50))
    with pytest.raises(UsageError, match=r"ring\.py cannot be unpacked .* make the zip aga"):
        submissions.read(path, WANTED)


def test_a_name_that_is_a_file_and_a_folder_in_a_zip_is_a_file(tmp_path):
    """What lies below it has no place to be."""
    files = {"a.py": b"", "a.py/main.py": b"", "a.py/b/c.py": b"", "part1": b"", "part1/x.py": b""}
    found = read(tmp_path, files, "zip")
    assert list(found.files) == ["a.py", "part1/x.py"]
    assert set(found.not_read) == {"a.py/main.py", "a.py/b/c.py", "part1"}
    assert arrived(found) == found


def test_a_file_that_is_too_large_is_not_read_and_named(tmp_path, monkeypatch):
    """The rest is graded."""
    monkeypatch.setattr(submissions, "MAX_FILE_NUM_BYTES", 10)
    found = read(tmp_path, {"ring.py": b"1", "video.mp4": bytes(11), "data/huge.py": bytes(11)})
    assert list(found.files) == ["ring.py"]
    assert set(found.not_read) == {"video.mp4", "data/huge.py"}
    assert all("larger" in reason for reason in found.not_read.values())


@pytest.mark.parametrize("how", ["folder", "zip"])
def test_of_too_much_the_nearest_files_are_read(tmp_path, monkeypatch, how):
    """A zip can announce more than there is memory."""
    monkeypatch.setattr(submissions, "MAX_TOTAL_NUM_BYTES", 10)
    found = read(tmp_path, {"a/ring.py": b"#" * 6, "sync.py": b"#" * 6, "a/b.py": b"#" * 4}, how)
    assert set(found.files) == {"sync.py", "a/b.py"}
    assert "MiB" in found.not_read["a/ring.py"]


def test_only_files_that_are_too_large_are_one_sentence(tmp_path, monkeypatch):
    """As nothing is left to grade."""
    monkeypatch.setattr(submissions, "MAX_FILE_NUM_BYTES", 10)
    for name in ("all.tar", "ring.py", "a/all.ipynb"):
        with pytest.raises(UsageError, match=f"no readable script: {name} is larger"):
            read(tmp_path / name, {name: bytes(11)})


@pytest.mark.parametrize("name", ["hidden/.ring.py", "report.pdf", "notes.txt"])
def test_other_files_alone_are_a_hand_in(tmp_path, name):
    """A report alone, say: no script was left out."""
    assert read(tmp_path, {name: b"", "a.pdf": b""}).digest


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
@pytest.mark.parametrize("folder", ["", "anna/", "a/b/c/"])
def test_a_notebook_is_read_for_the_files_it_writes(tmp_path, how, folder):
    """They lie in a folder of its name, beside what was handed in otherwise."""
    name = f"{folder}all.ipynb"
    files = {name: notebook(fed="f", ring="r"), f"{folder}ring.py": b"loose"}
    found = read(tmp_path, files, how)
    assert found.files == {
        f"{folder}ring.py": b"loose",
        f"{name}/fed.py": b"f\n",
        f"{name}/ring.py": b"r\n",
    }
    assert set(found.not_read) == {name}
    assert [note for note in found.notes if name in note and "fed.py, ring.py" in note]


@pytest.mark.parametrize(
    "names",
    [
        ("ring.py", "all.ipynb"),
        ("hw/part1/main.py", "hw/part1/ring.py", "hw/part1/sync.py"),
        ("hw/part1/main.py", "hw/part1/all.ipynb", "hw/data.csv"),
    ],
)
def test_both_doors_grade_the_same(tmp_path, names):
    """Which files are read is not asked again of what is left of them."""
    contents = {name: notebook(fed="f") if "ipynb" in name else b"" for name in names}
    here = read(tmp_path, contents)
    assert arrived(here) == here


@EVERY_WAY
def test_of_many_notebooks_the_nearest_are_read(tmp_path, how):
    """And it is said of the others that they were not."""
    lectures = {f"nbs/lectures/{number:02}.ipynb": notebook(x="1") for number in range(20)}
    found = read(tmp_path, {**lectures, "nbs/task.IPYNB": notebook(fed="f")}, how)
    assert found.files["nbs/task.IPYNB/fed.py"] == b"f\n"
    assert len(found.files) == 20
    assert "exceeds the limit of" in found.not_read["nbs/lectures/19.ipynb"]


def test_a_broken_notebook_is_named(tmp_path):
    """The scripts beside it are graded."""
    found = read(tmp_path, {"broken.ipynb": b"[" * 100_000, "ring.py": b""})
    assert list(found.files) == ["ring.py"]
    assert found.not_read["broken.ipynb"].startswith("is not a readable notebook")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{", r"no readable script: all\.ipynb is not a readable notebook"),
        (notebook(), r"no readable script: all\.ipynb has no cell .*%%writefile"),
    ],
)
def test_nothing_but_a_notebook_without_files_is_bad_usage(tmp_path, content, sentence):
    """One sentence says what a notebook has to look like."""
    with pytest.raises(UsageError, match=sentence):
        read(tmp_path, {"all.ipynb": content})


def test_a_notebook_cannot_write_outside_its_folder(tmp_path):
    """The refusal is told."""
    cell = {"cell_type": "code", "source": "%%writefile ../ring.py\nx"}
    content = json.dumps({"cells": [cell]}).encode()
    found = read(tmp_path, {"all.ipynb": content, "sync.py": b""})
    assert list(found.files) == ["sync.py"]
    assert "../ring.py" in found.not_read["all.ipynb"]


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
    found = submissions.read(tmp_path, ["ring.py"])
    assert list(found.files) == ["ring.py"]
    assert len(found.not_read) == 2
    assert all(each.isprintable() for each in found.not_read)


RING = (
    (Path(__file__).parents[3] / "reference/mpi_sgd/my_ring_allreduce.py")
    .read_text()
    .replace("import mpi4py\n", "import mpi4py  # übung, größer\n", 1)
)
LATIN_1 = f"# coding: latin-1\n{RING}"


@EVERY_WAY
@pytest.mark.parametrize(
    ("content", "text", "remark"),
    [
        (codecs.BOM_UTF8 + RING.encode(), RING, ""),
        (RING.encode("utf-16"), RING, "was converted from UTF-16, which Python does not read; "),
        (
            RING.encode("cp1252"),
            RING,
            ("was converted from cp1252 (Windows), because line 3 is not "),
        ),
        (LATIN_1.encode("latin-1"), LATIN_1.replace("latin-1", "utf-8  "), ""),
    ],
)
def test_scripts_are_one_text_however_they_were_saved(tmp_path, how, content, text, remark):
    """What is graded, shown and compared, and what the digest is of."""
    found = read(tmp_path, {"ring.py": content}, how)
    assert dict(found.files) == {"ring.py": text.encode()}
    assert found.digest == submissions.of_files("it", found.files).digest
    assert [note.startswith(f"ring.py {remark}") for note in found.notes] == [True] * bool(remark)
    compile(found.files["ring.py"], "ring.py", "exec")
    (excerpt,) = source_excerpts(found.files, "rank 0 waits at ring.py:4", "")
    lines = {line.line: line.text for line in excerpt.lines}
    assert lines == {line: text.splitlines()[line - 1] for line in range(1, 8)}


@pytest.mark.parametrize("coding", ["utf-16", "utf-8-sig"])
def test_what_a_converted_script_imports_is_taken(tmp_path, coding):
    """From another folder, in another encoding."""
    texts = {"ring.py": "import train\n", "utils/train.py": "x = 'é'\n"}
    found = read(tmp_path, {name: text.encode(coding) for name, text in texts.items()})
    assert dict(found.files) == {name: text.encode() for name, text in texts.items()}


@EVERY_WAY
def test_a_script_in_an_unknown_coding_is_named_and_the_others_are_graded(tmp_path, how):
    """What it says may be anything."""
    files = {"ring.py": b"# coding: utf-7\n", "sync.py": b"1", "helper.py": b"x = '\0'\n"}
    found = read(tmp_path, files, how)
    assert dict(found.files) == {"sync.py": b"1"}
    assert found.not_read == {
        "helper.py": "has a NUL byte on line 1, which Python does not allow; save it as UTF-8",
        "ring.py": (
            "declares the unsupported encoding utf-7 on line 1; save it as UTF-8 without that line"
        ),
    }


def test_where_no_script_that_is_asked_for_can_be_read_there_is_no_zero(tmp_path):
    """One sentence names the file, and what to do."""
    with pytest.raises(UsageError, match="ring\\.py has a NUL byte on line 2, which Python"):
        read(tmp_path, {"ring.py": b"x = 1\n\0\n", "notes.txt": b"\0"})


def test_text_that_grows_beyond_all_measure_is_refused(tmp_path, monkeypatch):
    """A euro sign is one byte in cp1252, and three in UTF-8."""
    monkeypatch.setattr(submissions, "MAX_TOTAL_NUM_BYTES", 1000)
    assert read(tmp_path / "a", {"ring.py": b"\x80" * 333}).files
    with pytest.raises(UsageError, match="ring\\.py would exceed the limit of"):
        read(tmp_path / "b", {"ring.py": b"\x80" * 334})


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
def test_a_notebook_is_read_in_each_encoding_of_json(tmp_path, coding):
    """With a mark or without."""
    found = read(tmp_path, {"all.ipynb": notebook(fed="x = 'é'").decode().encode(coding)})
    assert found.files["all.ipynb/fed.py"] == "x = 'é'\n".encode()


def test_what_a_notebook_writes_is_read_as_a_script_is(tmp_path):
    """Its coding line, too; and it is told as taken from there."""
    cells = notebook(fed="# coding: latin-1\nx = 1", ring="x = '\0'")
    found = read(tmp_path, {"all.ipynb": cells})
    assert found.files["all.ipynb/fed.py"] == b"# coding: utf-8  \nx = 1\n"
    assert "NUL byte on line 1" in found.not_read["all.ipynb/ring.py"]


def test_a_notebook_that_is_no_text_is_refused_in_one_sentence(tmp_path):
    """JSON has no other encodings."""
    with pytest.raises(UsageError, match="all\\.ipynb is not a readable notebook"):
        read(tmp_path, {"all.ipynb": '{"cells": ["é"]}'.encode("cp1252")})


@pytest.mark.parametrize("how", ["folder", "zip", "tar"])
@pytest.mark.parametrize("outer", ["", "anna/"])
def test_folders_without_files_are_known_by_their_names(tmp_path, how, outer):
    """Empty ones and those of outputs, wherever they lie; what tools leave is none."""
    root = in_folder(
        tmp_path / "it",
        {
            f"{outer}part1/main.py": b"1",
            f"{outer}part1/output/run1/loss.txt": b"2",
            f"{outer}figures/ring.png": b"3",
        },
    )
    for name in ("empty", "part1/empty", ".git", "part1/__pycache__"):
        (root / outer / name).mkdir()
    if how != "folder":
        root = Path(shutil.make_archive(str(tmp_path / "packed"), how, root))
    found = submissions.read(root, WANTED)
    assert found.folders == tuple(
        f"{outer}{name}"
        for name in ("empty", "figures", "part1/empty", "part1/output", "part1/output/run1")
    )
    assert list(found.files) == [f"{outer}part1/main.py"]
    assert arrived(found) == found


def test_a_folder_more_is_another_submission(tmp_path):
    """What it comes to may differ: a program writes there."""
    before = read(tmp_path, {"ring.py": b"1"})
    (tmp_path / "it" / "output").mkdir()
    assert submissions.read(tmp_path / "it", WANTED).digest != before.digest


def test_empty_folders_are_nothing_to_grade(tmp_path):
    """As before they were known."""
    (tmp_path / "it" / "output").mkdir(parents=True)
    with pytest.raises(UsageError, match="is empty"):
        submissions.read(tmp_path / "it", WANTED)

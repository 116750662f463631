"""The folder of a class becomes hand-ins; what could not become one is told, and stops nothing."""

import os
import zipfile
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from grader.addons.classroom import arrivals
from grader.addons.classroom.hand_in_names import Naming
from grader.addons.classroom.roster import Roster, Student
from grader.model.errors import UsageError

MOODLE, CANVAS, BLACKBOARD = Naming("moodle"), Naming("canvas"), Naming("blackboard", "HW 3")


def read(tmp_path, naming=None):
    """Return what can be graded, by label, and what cannot."""
    found = arrivals.read_folder(tmp_path / "in", tmp_path / "assembled", UTC, naming or Naming())
    good = {each.label: each for each in found if not each.problem}
    return good, [each for each in found if each.problem]


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "in"
    made.mkdir()
    return made


def test_loose_files_of_one_student_are_one_hand_in(folder, tmp_path):
    """Under the names that the student gave them, whatever Canvas has made of these."""
    (folder / "doejane_1_7_ring-1.py").write_text("a")
    (folder / "doejane_1_8_naive.py").write_text("b")
    (folder / "doejane_1_7_sync.py").write_text("c")
    found, unreadable = read(tmp_path, CANVAS)
    assert (list(found), unreadable) == (["doejane_1"], [])
    assert found["doejane_1"].sent_as == "doejane_1_7_"
    names = ["doejane_1_7_ring-1.py", "doejane_1_7_sync.py", "doejane_1_8_naive.py"]
    assert [file.name for file in found["doejane_1"].files] == names
    kept = found["doejane_1"].path
    assert {path.name: path.read_text() for path in kept.iterdir()} == {
        "naive.py": "b",
        "ring.py": "a",
        "sync.py": "c",
    }


def test_two_files_that_canvas_has_numbered_apart_stay_two(folder, tmp_path):
    (folder / "doejane_1_7_ring-1.py").write_text("a")
    (folder / "doejane_1_8_ring.py").write_text("b")
    found, _ = read(tmp_path, CANVAS)
    kept = found["doejane_1"].path
    assert sorted(path.name for path in kept.iterdir()) == ["ring-1.py", "ring.py"]


def test_two_files_of_one_name_are_told_and_neither_is_lost(folder, tmp_path):
    (folder / "doejane_1_7_ring.py").write_text("a")
    (folder / "doejane_1_8_ring.py").write_text("b")
    found, (told,) = read(tmp_path, CANVAS)
    assert not found and "two of its files are called ring.py" in told.problem


def test_a_folder_with_one_archive_is_that_archive(folder, tmp_path):
    """But not a link to one, which leads out of what was handed in."""
    outside = tmp_path / "secret.zip"
    with zipfile.ZipFile(outside, "w") as archive:
        archive.writestr("a.py", "x")
    for name in ("Ann_1_assignsubmission_file_", "Bo_2_assignsubmission_file_"):
        (folder / name).mkdir()
    (folder / "Ann_1_assignsubmission_file_" / "hw.zip").write_bytes(outside.read_bytes())
    (folder / "Bo_2_assignsubmission_file_" / "hw.zip").symlink_to(outside)
    found, _ = read(tmp_path, MOODLE)
    assert found["Ann_1_assignsubmission_file"].path.name == "hw.zip"
    assert found["Bo_2_assignsubmission_file"].path.is_dir()


def test_what_is_no_hand_in_is_told_and_stops_nothing(folder, tmp_path):
    (folder / "notes.txt").write_text("x")
    (folder / "roster.csv").write_text("id\n")
    (folder / ".DS_Store").write_text("x")
    (folder / "__MACOSX").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "anna").mkdir()
    (folder / "anna" / "ring.py").write_text("x")
    os.mkfifo(folder / "anna" / "pipe")
    (folder / "eve").symlink_to("anna")
    found, unreadable = read(tmp_path)
    assert list(found) == ["anna"]
    assert [each.label for each in unreadable] == ["eve", "notes.txt", "pipe"]
    assert "it is a link" in unreadable[0].problem
    assert "expected a folder or an archive" in unreadable[1].problem


def test_a_file_that_is_no_hand_in_is_somebodys_all_the_same(folder, tmp_path):
    """Else the roster has nothing of a student who has handed in a script alone."""
    (folder / "anna.py").write_text("x")
    found, (told,) = read(tmp_path)
    assert not found and told.who == {"id": "anna"}


def test_a_folder_beside_an_archive_of_one_name_is_told(folder, tmp_path):
    (folder / "anna").mkdir()
    (folder / "anna.zip").write_bytes(b"PK")
    found, (told,) = read(tmp_path)
    assert not found and "anna is not a file, but the same student" in told.problem


@pytest.mark.parametrize(
    ("naming", "name"),
    [
        (MOODLE, "Ann_1_assignsubmission_onlinetext_"),
        (CANVAS, "doejane_1_text.html"),
        (BLACKBOARD, "HW 3_jd42_attempt_2026-11-20-23-58-00.txt"),
    ],
)
def test_what_was_only_typed_in_is_told(folder, tmp_path, naming, name):
    """Else somebody who has pasted the code into the platform would have handed in nothing."""
    (folder / name).write_text("import mpi4py")
    found, (told,) = read(tmp_path, naming)
    assert not found and "only text typed into" in told.problem


def test_the_digest_is_that_of_names_and_contents(folder, tmp_path):
    """Not of times, of what git, Python and systems keep, or of what a link leads to."""
    for name in ("one", "two", "three"):
        for kept in (".git/index", "__pycache__/ring.pyc", "a/.DS_Store"):
            (folder / name / kept).parent.mkdir(parents=True)
            (folder / name / kept).write_text(name)
        (folder / name / "ring.py").write_text("x")
    (folder / "three" / "ring.py").rename(folder / "three" / "rings.py")
    found, _ = read(tmp_path)
    assert found["one"].digest == found["two"].digest != found["three"].digest
    (folder / "two" / "link").symlink_to("/etc/passwd")
    assert read(tmp_path)[0]["two"].digest != found["one"].digest


def test_what_gradescope_tells(folder, tmp_path):
    """Authors, with those of a group, and times; an export of another form is refused whole."""
    (folder / "submission_5").mkdir()
    (folder / "submission_5" / "ring.py").write_text("x")
    table = folder / "submission_metadata.yml"
    table.write_text(
        "submission_5:\n"
        "  :submitters:\n"
        "  - :name: Ann Ahn\n    :sid: '007'\n    :email: ann@example.org\n"
        "  - :name: Bo Bo\n    :sid: '008'\n    :email: bo@example.org\n"
        "  :created_at: 2026-11-20 22:00:00.5 Z\n"
        "  :score: 1.0\n"
    )
    hand_in = read(tmp_path, Naming("gradescope"))[0]["submission_5"]
    assert (hand_in.who["name"], hand_in.who["id"]) == ("Ann Ahn", "007")
    assert [each["name"] for each in hand_in.other_authors] == ["Bo Bo"]
    assert hand_in.submitted_at == datetime(2026, 11, 20, 22, 0, 0, 500_000, UTC)
    text = table.read_text().replace("2026-11-20 22:00:00.5 Z", "2026-11-20 22:00:00")
    table.write_text(text)
    zone = ZoneInfo("Asia/Tokyo")  # of the class, whatever the clock of this machine
    (found,) = arrivals.read_folder(folder, tmp_path / "assembled", zone, Naming("gradescope"))
    assert found.submitted_at == datetime(2026, 11, 20, 22, tzinfo=zone)
    table.write_text("- not\n- a table\n")
    with pytest.raises(UsageError, match="not an export from Gradescope"):
        read(tmp_path, Naming("gradescope"))


def test_times_of_a_table_are_those_of_the_labels(folder, tmp_path):
    (folder / "anna").mkdir()
    at = datetime(2026, 11, 20, tzinfo=UTC)
    found, unknown = arrivals.with_times(
        [read(tmp_path)[0]["anna"]], {"anna": at, "bert": at}, Naming()
    )
    assert (found[0].submitted_at, unknown) == (at, ["bert"])


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("anna.zip", "anna.zip"),
        ("anna.zip", "anna"),
        ("A Nna_1_assignsubmission_file_", "A Nna_1_assignsubmission_file"),
        ("A Nna_1_assignsubmission_file_", "A Nna_1_assignsubmission_file_hw.zip"),
    ],
)
def test_times_name_the_archive_the_folder_or_the_file(folder, tmp_path, name, called):
    if name.endswith(".zip"):
        (folder / name).write_bytes(b"PK")
    else:
        (folder / name).mkdir()
    at = datetime(2026, 11, 20, tzinfo=UTC)
    naming = Naming() if name == "anna.zip" else MOODLE
    hand_ins = list(read(tmp_path, naming)[0].values())
    found, unknown = arrivals.with_times(hand_ins, {called: at}, naming)
    assert ([each.submitted_at for each in found], unknown) == ([at], [])


def test_times_of_the_files_of_a_submission_are_that_of_the_last(folder, tmp_path):
    """Also where the platform writes an accent otherwise than the system that has unpacked."""
    for name in ("a\u0308hnann_1_7_ring.py", "a\u0308hnann_1_8_naive.py"):
        (folder / name).write_text("x")
    early, late = (datetime(2026, 11, day, tzinfo=UTC) for day in (20, 21))
    times = {"\xe4hnann_1_8_naive.py": late, "\xe4hnann_1_7_ring.py": early}
    hand_ins = list(read(tmp_path, CANVAS)[0].values())
    found, unknown = arrivals.with_times(hand_ins, times, CANVAS)
    assert ([each.submitted_at for each in found], unknown) == ([late], [])


def test_what_cannot_be_listed_is_told_and_not_half_read(folder, tmp_path, monkeypatch):
    """Else what is in a folder of no rights would be missing, and nobody would know."""
    (folder / "anna").mkdir()
    refused = PermissionError(13, "Permission denied")
    monkeypatch.setattr(os, "scandir", lambda _: (_ for _ in ()).throw(refused))
    found, (told,) = read(tmp_path)
    assert not found and told.problem == "anna cannot be read: Permission denied"
    assert (told.who, told.digest) == ({"id": "anna"}, "")


def test_a_folder_that_cannot_be_listed_is_one_sentence(folder, tmp_path, monkeypatch):
    def refused(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.iterdir", refused)
    with pytest.raises(UsageError, match="in cannot be read: Permission denied; give yourself per"):
        read(tmp_path)


def test_times_of_what_cannot_be_graded_are_nothing_to_tell(folder, tmp_path):
    (folder / "Ann_1_assignsubmission_onlinetext_").mkdir()
    (folder / "Bo\u0308_2_assignsubmission_file_").mkdir()
    found, unreadable = read(tmp_path, MOODLE)
    at = datetime(2026, 11, 20, tzinfo=UTC)
    times = {f"{name}_assignsubmission_file_": at for name in ("Ann_1", "B\u00f6_2", "Cy_3")}
    timed, unknown = arrivals.with_times([*found.values(), *unreadable], times, MOODLE)
    assert ([each.submitted_at for each in timed], unknown) == (
        [at, at],
        ["Cy_3_assignsubmission_file"],
    )


def test_a_name_that_reads_two_ways_is_told_and_mixed_with_none(folder, tmp_path):
    """Neither files nor times of it come to Ann, who has handed in as well."""
    ann = "Ann Lee_101_assignsubmission_file"
    eve = "Eve Evil_7_assignsubmission_file"
    names = (f"{ann}_ring.py", f"{eve}_ring.py", f"{eve}_x_101_assignsubmission_file_b.pdf")
    for name in names:
        (folder / name).write_text("x")
    students = [("ann", "101"), ("eve", "7")]
    roster = Roster(tuple(Student(each, {"id": each, "moodle": at}) for each, at in students))
    naming = Naming("moodle", roster=roster)
    found, (whose, told) = read(tmp_path, naming)
    assert list(found) == [ann]
    assert [each.name for each in found[ann].path.iterdir()] == ["ring.py"]
    assert [each.id for each in roster.authors(whose)] == ["eve"]
    assert told.label == names[2] and not roster.authors(told)
    assert told.problem.startswith(f"{names[2]} can mean moodle 7 or moodle 101, and the")
    early, late = (datetime(2026, 11, day, tzinfo=UTC) for day in (20, 25))
    times = {f"{ann}_": early, f"{eve}_x_101_assignsubmission_file_b.pdf": late}
    timed, unknown = arrivals.with_times([*found.values(), whose, told], times, naming)
    assert ([each.submitted_at for each in timed], unknown) == ([early, None, late], [])


@pytest.mark.parametrize(
    ("platform", "label", "first", "second"),
    [
        ("canvas", "leeann_201", "_77_ring.py", "_78_3_naive.py"),
        (
            "moodle",
            "Ann Lee_5_assignsubmission_file",
            "_ring.py",
            "_x_101_assignsubmission_file_naive.py",
        ),
    ],
)
def test_what_may_lack_a_file_is_not_graded_without_it(
    folder, tmp_path, platform, label, first, second
):
    """Its author has no mark before a person has done what the sentence says."""
    for name in (first, second):
        (folder / f"{label}{name}").write_text("x")
    ann = {"id": "ann", "name": "Ann Lee"}
    naming = Naming(platform, roster=Roster((Student("ann", ann),)))
    found, (lacking, _) = read(tmp_path, naming)
    assert not found and [each.id for each in naming.roster.authors(lacking)] == ["ann"]
    assert lacking.problem.startswith(f"{label} may be missing a file: {label}{second} can mean")
    number = Student("ann", {**ann, "canvas": "201", "moodle": "5"})
    found, unreadable = read(tmp_path, Naming(platform, roster=Roster((number,))))
    assert list(found) == [label] and not unreadable
    (folder / "ann").mkdir()
    for name in (first, second):
        (folder / f"{label}{name}").rename(folder / "ann" / f"{label}{name}")
    found, unreadable = read(tmp_path, naming)
    assert list(found) == ["ann"] and not unreadable


@pytest.mark.parametrize(
    ("naming", "name"),
    [
        (MOODLE, "Default group_assignsubmission_file_ring.pdf"),
        (MOODLE, "Default group_assignsubmission_file_x_101_assignsubmission_file_y.html"),
        (BLACKBOARD, "HW 4_bo_attempt_2026-11-20-23-58-00_report.pdf"),
    ],
)
def test_a_document_with_a_name_of_a_platform_is_told(folder, tmp_path, naming, name):
    """Else its author would have handed in nothing; what an instructor keeps there is skipped."""
    for each in (name, "task.pdf", "grades.html"):
        (folder / each).write_text("x")
    found, (told,) = read(tmp_path, naming)
    assert not found and told.label == name
    assert "does not match" in told.problem


def test_a_platform_that_is_not_declared_is_one_sentence(folder, tmp_path):
    """Before anything is graded: else each file would be a student, or nobody's."""
    name = "Ann_1_assignsubmission_file_"
    (folder / name).mkdir()
    said = 'looks like a hand-in from Moodle. If all .* write platform = "moodle" in'
    with pytest.raises(UsageError, match=said):
        read(tmp_path)
    roster = Roster((Student(name, {"id": name}),))
    assert list(read(tmp_path, Naming(roster=roster))[0]) == [name]


@pytest.mark.parametrize(
    ("names", "platform"),
    [
        (["Ann_1_assignsubmission_file_", "Bo_2_assignsubmission_file_x.zip"], "moodle"),
        (["Ann_1_assignsubmission_file_", "anna"], ""),
        # Without a roster these may be weeks and numbers of tasks.
        (["doejane_104_9_hw.zip", "leeann_201_10_hw.zip"], ""),
        (["week_3_2_ann.zip", "week_3_2_bo.zip"], ""),
        # One student alone can write this behind the own name; the others' names decide.
        (["Ann_1_assignsubmission_file_x_104_9_y.zip", "Bo_2_assignsubmission_file_"], "moodle"),
        (["Ann_1_assignsubmission_file_x_104_9_y.zip"], ""),
        (["submission_5", "submission_metadata.yml"], "gradescope"),
        (["HW 3_jd42_attempt_2026-11-20-23-58-00.txt"], ""),
        (["anna", "roster.csv"], ""),
        ([], ""),
    ],
)
def test_the_platform_that_can_have_written_all_names_is_taken(folder, names, platform):
    """Where class.toml declares none; what a course keeps beside the hand-ins is no name."""
    for name in names:
        (folder / name).touch() if "." in name else (folder / name).mkdir()
    assert arrivals.naming_of(folder, Naming()).platform == platform
    assert arrivals.naming_of(folder, Naming("github", "hw3")).platform == "github"
    assert arrivals.naming_of(folder / "missing", Naming()) == Naming()


def test_canvas_is_taken_where_the_roster_has_all_authors(folder, tmp_path):
    roster = Roster(tuple(Student(each, {"id": each, "name": f"{each} Lee"}) for each in "ab"))
    for name in ("leea_201_9_hw.zip", "leeb_202_10_hw.zip"):
        (folder / name).touch()
    assert arrivals.naming_of(folder, Naming(roster=roster)).platform == "canvas"
    (folder / "week_3_2_ann.zip").touch()
    assert arrivals.naming_of(folder, Naming(roster=roster)).platform == ""
    with pytest.raises(UsageError, match=r"like a hand-in from Canvas\. If all hand-ins are"):
        read(tmp_path, Naming(roster=roster))


def test_names_of_github_are_known_by_the_roster(folder, tmp_path):
    (folder / "hw3-AnnLee").mkdir()
    (folder / "hw3-other").mkdir()
    roster = Roster((Student("ann", {"id": "ann", "github": "annlee"}),))
    said = 'from GitHub. If all .* write platform = "github" and platform_assignment in'
    with pytest.raises(UsageError, match=said):
        read(tmp_path, Naming(roster=roster))
    assert "hw3-AnnLee" in read(tmp_path, Naming("github", "hw3", roster))[0]


WORKSHEET = """\
\ufeffIdentifier,"Full name","Email address",Status,Grade,"Last modified (submission)"
"Participant 4711","J\u00f6rg M\u00fcller",j@example.org,"Submitted for grading",,"{}"
"Participant 4712","Ann Lee",a@example.org,"No submission",,-
"""


def test_a_hand_in_has_one_time(tmp_path):
    file = tmp_path / "times.csv"
    file.write_text("hand_in,submitted_at\na,2026-11-20T11:00\na,2026-11-20T12:00\n")
    with pytest.raises(UsageError, match="line 3: a appears twice"):
        arrivals.read_times(file, UTC)


def test_times_have_a_zone_or_get_one(tmp_path):
    file = tmp_path / "times.csv"
    file.write_text("hand_in,submitted_at\na,2026-11-20T10:00:00+01:00\nb,2026-11-20 10:00\n")
    assert arrivals.read_times(file, UTC) == {
        "a": datetime(2026, 11, 20, 9, tzinfo=UTC),
        "b": datetime(2026, 11, 20, 10, tzinfo=UTC),
    }
    for text in ("yesterday", "2026-11-20"):  # of a day, its beginning or its end?
        file.write_text(f"hand_in,submitted_at\na,{text}\n")
        with pytest.raises(UsageError, match=f"line 2: found '{text}'; expected a time"):
            arrivals.read_times(file, UTC)


@pytest.mark.parametrize(
    "text",
    [
        "Friday, 20 November 2026, 11:58 PM",
        "Friday, November 20, 2026, 11:58 pm",
        "Friday, 20 November 2026, 23:58",
    ],
)
def test_the_worksheet_of_moodle_has_times(tmp_path, text):
    """On the clock of the course; of who has submitted nothing it has none."""
    file = tmp_path / "Grades.csv"
    file.write_text(WORKSHEET.format(text), encoding="utf-8")
    zone = ZoneInfo("Europe/Zurich")
    assert arrivals.read_times(file, zone) == {
        "J\u00f6rg M\u00fcller_4711_assignsubmission_file_": datetime(
            2026, 11, 20, 23, 58, tzinfo=zone
        )
    }


def test_a_worksheet_in_another_language_is_one_sentence(tmp_path):
    file = tmp_path / "Grades.csv"
    file.write_text(WORKSHEET.format("Freitag, 20. November 2026, 23:58"), encoding="utf-8")
    with pytest.raises(UsageError, match=r"line 2: found 'Freitag, .* as Moodle writes it in Eng"):
        arrivals.read_times(file, UTC)
    of_nobody = WORKSHEET.replace("Participant 4711", "")
    file.write_text(of_nobody.format("Friday, 20 November 2026, 23:58"), encoding="utf-8")
    with pytest.raises(UsageError, match="line 2: found the identifier ''; expected one as Moodle"):
        arrivals.read_times(file, UTC)
    file.write_text("ID,Zuletzt ge\u00e4ndert (Abgabe)\n1,-\n", encoding="utf-8")
    with pytest.raises(UsageError, match="has no column hand_in; expected a header with"):
        arrivals.read_times(file, UTC)

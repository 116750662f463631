"""Who is forgotten leaves nothing, and takes nothing from others."""

from dataclasses import replace

import pytest
from class_samples import NAMES, grading, hand_in, outcome

from grader.addons.classroom import erasure, publication
from grader.addons.classroom.class_folder import write_atomically
from grader.addons.classroom.gradings import Gradings
from grader.addons.classroom.marking import Given, Questions
from grader.addons.classroom.policy import Policy
from grader.addons.classroom.roster import Roster, Student
from grader.addons.classroom.standing import Rules, Work, standings
from grader.model.errors import GraderError, UsageError

PAIR = Roster(
    (Student("aa", {"id": "aa"}, "g1"), Student("bb", {"id": "bb"}, "g1"), Student("cc", {}))
)


def forget(out, identity, hand_ins, roster):
    """Return what is left, and how many gradings were removed."""
    gone = {NAMES.of(identity)}
    left, without = erasure.without(hand_ins, roster, NAMES, gone)
    theirs = [each for each in hand_ins if each not in left]
    number = erasure.remove(out, Gradings(out / "gradings"), NAMES.of(identity), theirs, left)
    return left, without, number


def kept(out, key, digest):
    refused = replace(outcome(f"{digest} is damaged", 2), digest=digest)
    Gradings(out / "gradings").keep(key, refused, None)


def test_the_others_of_a_group_keep_what_the_forgotten_one_has_handed_in(tmp_path):
    theirs = hand_in("aa")
    left, roster, _ = forget(tmp_path, "aa", [theirs], PAIR)
    found, strays = standings(
        [Work(left[0], None)], Rules(roster, {}, Policy(), Questions(), NAMES)
    )
    assert [(each.student.id, len(each.works)) for each in found] == [("bb", 1), ("cc", 0)]
    assert not strays.hand_ins


def test_the_others_of_a_group_keep_the_marks_on_the_sheet_of_the_forgotten_one(tmp_path):
    """It was called by one of their pseudonyms, and is for all of them."""
    left, roster, _ = forget(tmp_path, "aa", [hand_in("aa")], PAIR)
    marks = {NAMES.of("aa"): {"ring": Given(3, "", "x")}}
    work = Work(left[0], grading())
    found, strays = standings([work], Rules(roster, marks, Policy(), Questions(), NAMES))
    assert [each.final for each in found if each.works] == [3]
    assert not strays.keys


def test_who_was_forgotten_does_not_come_back_as_an_author_beside_others(tmp_path):
    """Of a group that the platform knows, without a roster."""
    both = hand_in("submission_5", {"id": "aa"}, other_authors=({"id": "bb"},))
    left, roster, _ = forget(tmp_path, "aa", [both], Roster())
    assert [each.id for each in roster.authors(left[0])] == ["bb"]


def test_the_last_of_a_roster_leaves_none_and_not_everybody(tmp_path):
    alone = Roster((Student("aa", {"id": "aa"}),))
    left, roster, _ = forget(tmp_path, "aa", [hand_in("aa"), hand_in("zz")], alone)
    assert [each.label for each in left] == ["zz"] and roster.authors(left[0]) == []


def test_gradings_of_earlier_hand_ins_go_as_well(tmp_path):
    """Also where the instructor has removed or replaced the files before."""
    for key, digest in (("1", "old of aa"), ("2", "digest of cc"), ("3", "digest of both")):
        kept(tmp_path, key, digest)
    gone = {NAMES.of("aa"): ["old of aa"], NAMES.of("cc"): ["digest of cc"]}
    owned = {digest: [who] for who, digests in gone.items() for digest in digests}
    write_atomically(
        tmp_path / "owners.json", {**owned, "digest of both": [NAMES.of("aa"), NAMES.of("cc")]}
    )
    publication.write(tmp_path, {"old of aa": "1", "digest of cc": "2"})
    (tmp_path / "gradebook.csv").write_text("aa")
    (tmp_path / "class.html").write_text("page")
    roster = Roster((Student("aa", {"id": "aa"}), Student("cc", {"id": "cc"})))
    _, _, number = forget(tmp_path, "aa", [hand_in("cc")], roster)
    assert number == 1
    assert sorted(path.name for path in (tmp_path / "gradings").iterdir()) == ["2", "3"]
    assert publication.read(tmp_path) == {"digest of cc": "2"}
    assert not any((tmp_path / name).exists() for name in ("class.html", "gradebook.csv"))
    assert NAMES.of("aa") not in (tmp_path / "owners.json").read_text()


def test_copies_of_others_stay(tmp_path):
    for label in ("aa", "cc"):
        (tmp_path / "assembled" / label).mkdir(parents=True)
    erasure.remove_copies(tmp_path, [hand_in("cc")])
    assert [path.name for path in (tmp_path / "assembled").iterdir()] == ["cc"]


def test_points_that_were_given_to_others_by_hand_stay(tmp_path):
    """In every file to fill in; a team keeps its lines as well."""
    theirs, others = f'{NAMES.of("aa")};ring;3;"two\nlines"\n', f"{NAMES.of('cc')};ring;4;\n"
    for name in ("to-mark.csv", "to-mark-1.csv"):
        (tmp_path / name).write_text(f"\ufeffid;row;points;comment\n{theirs}{others}")
    forget(tmp_path, "aa", [hand_in("aa"), hand_in("cc")], Roster())
    for name in ("to-mark.csv", "to-mark-1.csv"):
        assert (tmp_path / name).read_text() == f"id;row;points;comment\n{others}"
    kept = (Gradings(tmp_path / "gradings"), NAMES.of("cc"), [], [])
    erasure.remove(tmp_path, *kept, is_in_team=True)
    assert others in (tmp_path / "to-mark.csv").read_text()


def test_every_line_of_the_instructors_files_with_the_student_is_named(tmp_path):
    """Of the roster, class.toml, points, and the platform's worksheet; no longer word counts."""
    texts = {
        "class.toml": '[teams]\nblue = ["aa", "bb"]\n[extensions]\naa = 2026-11-20T12:00:00\n',
        "roster.csv": "\ufeffid,name\naa,Ann Lee\naaron,Ann Leeds\n",
        "worksheet.csv": 'Identifier;Full name\n"Participant 17";"ann lee"\nParticipant 171;Bo\n',
        "kim.csv": "id,row,points\nbb,ring,3\nbb,naive,17\n<aa>,ring,2\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    files = [tmp_path / name for name in texts]
    found = [*erasure.lines_with({"aa", "Ann Lee", "17", ""}, [*files, files[0]])]
    assert [each.removeprefix(f"{tmp_path}/") for each in found] == [
        *("class.toml, lines 2, 4", "roster.csv, line 2", "worksheet.csv, line 2"),
        "kim.csv, line 4",
    ]


def test_nothing_is_removed_if_a_file_to_fill_in_cannot_be_read(tmp_path):
    (tmp_path / "to-mark.csv").write_bytes(b"id,row\n\xff,ring\n")
    (tmp_path / "gradebook.csv").write_text("aa")
    with pytest.raises(UsageError, match=r"to-mark\.csv is not UTF-8"):
        forget(tmp_path, "aa", [hand_in("aa")], Roster())
    assert (tmp_path / "gradebook.csv").exists()


def test_a_damaged_grading_does_not_keep_a_student(tmp_path):
    """It may be theirs, and whose it is not is graded again."""
    kept(tmp_path, "1", "digest of aa")
    kept(tmp_path, "2", "digest of cc")
    (tmp_path / "gradings" / "2" / "outcome.json").write_text("{half")
    assert forget(tmp_path, "aa", [hand_in("aa")], Roster())[2] == 2


def test_whose_files_are_gone_can_still_be_forgotten():
    """By the id, without a roster; an id that was never there is refused."""
    owned = {"digest": [NAMES.of("aa")]}
    assert erasure.student_called("aa", [], Roster(), NAMES, owned).id == "aa"
    with pytest.raises(UsageError, match="no student here has the id 'zz'"):
        erasure.student_called("zz", [], Roster(), NAMES, owned)


def test_who_owns_a_hand_in_is_remembered_as_long_as_anybody_does(tmp_path):
    copies = [hand_in("aa"), hand_in("copy", {"id": "cc"})]
    same = [replace(each, digest="d") for each in copies]
    owned = erasure.owners_of(same, Roster(), NAMES)
    assert owned == {"d": sorted([NAMES.of("aa"), NAMES.of("cc")])}
    erasure.remember_owners(tmp_path, owned)
    assert erasure.owners(tmp_path) == owned
    (tmp_path / "owners.json").write_text("[]")
    with pytest.raises(GraderError, match=r"owners\.json cannot be read"):
        erasure.owners(tmp_path)


def test_another_class_is_told_by_nobody_and_nothing_in_common():
    """A hand-in or a student of before is enough: rosters, names and files change meanwhile."""
    before = {"digest of aa": [NAMES.of("aa")]}
    for same in (hand_in("aa"), hand_in("new", {"id": "aa"}), replace(hand_in("x"), digest="y")):
        is_same = "x" not in same.who.values()
        now = erasure.owners_of([same], Roster(), NAMES)
        assert erasure.is_known(before, now) is is_same
        assert erasure.is_known({}, now)
    assert erasure.is_known(before, {"digest of aa": []})
    assert erasure.is_known(before, {"digest of aa": ["another"]})

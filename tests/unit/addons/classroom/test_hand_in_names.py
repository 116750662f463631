"""Who handed in what, by the platform's part of a name and the roster, whatever a student wrote."""

from datetime import datetime

import pytest
from class_samples import hand_in

from grader.addons.classroom.hand_in_names import PLATFORMS, Naming
from grader.addons.classroom.roster import Roster, Student

NAMES = {
    # Moodle, "Download all submissions", with folders and without.
    ("moodle", "Ann O'Hara_4711_assignsubmission_file_"): (
        "Ann O'Hara_4711_assignsubmission_file",
        {"name": "Ann O'Hara", "moodle": "4711"},
        "",
    ),
    ("moodle", "Bo Li_12_assignsubmission_file_hw_3.zip"): (
        "Bo Li_12_assignsubmission_file",
        {"name": "Bo Li", "moodle": "12"},
        "hw_3.zip",
    ),
    ("moodle", "Participant_99_assignsubmission_file_a\nring.py"): (
        "Participant_99_assignsubmission_file",
        {"name": "Participant", "moodle": "99"},
        "a\nring.py",
    ),
    ("canvas", "doejane_104_9_hw.zip"): (
        "doejane_104",
        {"canvas": "104", "canvas_name": "doejane"},
        "hw.zip",
    ),
    ("canvas", "doejane_LATE_104_9_my_ring.py"): (
        "doejane_LATE_104",
        {"canvas": "104", "canvas_name": "doejane"},
        "my_ring.py",
    ),
    ("canvas", "anon_3fA2k_9_hw.zip"): ("anon_3fA2k", {"canvas": "anon_3fA2k"}, "hw.zip"),
    ("canvas", "LATE_anon_3fA2k_9_hw.zip"): ("LATE_anon_3fA2k", {"canvas": "anon_3fA2k"}, "hw.zip"),
    ("canvas", "van_der_bo_104_9_hw.zip"): (
        "van_der_bo_104",
        {"canvas": "104", "canvas_name": "van_der_bo"},
        "hw.zip",
    ),
    ("gradescope", "submission_31415"): ("submission_31415", {"gradescope": "31415"}, ""),
    ("blackboard", "HW_3_jd_42_attempt_2026-11-20-23-58-00_hw.zip"): (
        "HW_3_jd_42_attempt_2026-11-20-23-58-00",
        {"blackboard": "jd_42"},
        "hw.zip",
    ),
    ("github", "HW_3-jd-42"): ("HW_3-jd-42", {"github": "jd-42"}, ""),
    # A folder or an archive called by the id, such as a checkout.
    ("", "anna"): ("anna", {"id": "anna"}, ""),
    ("", "anna.tar.gz"): ("anna", {"id": "anna"}, "anna.tar.gz"),
    ("", "ANNA.ZIP"): ("ANNA", {"id": "ANNA"}, "ANNA.ZIP"),
    ("", "anna.rar"): ("anna", {"id": "anna"}, "anna.rar"),
    ("", "a\u0308nne"): ("\xe4nne", {"id": "\xe4nne"}, ""),
}
BLACKBOARD = "HW 3_eve_attempt_2026-11-20-23-58-00"


@pytest.mark.parametrize(("platform", "name"), NAMES)
def test_a_name_says_whose_it_is(platform, name):
    found = Naming(platform, "HW_3").parse(name)
    assert (found.label, dict(found.who), found.file) == NAMES[platform, name]


def test_canvas_says_what_is_late_and_numbers_what_is_handed_in_again():
    """The number is no part of the name that the assignment asks for."""
    canvas = Naming("canvas")
    found = canvas.parse("doejane_LATE_104_9_my_ring-2.py")
    assert (found.is_called_late, found.file_before) == (True, "my_ring.py")
    assert not canvas.parse("doejane_104_9_my_ring.py").is_called_late


def test_blackboard_says_when_and_adds_a_text_about_it():
    blackboard = Naming("blackboard", "HW 3")
    assert blackboard.parse(f"{BLACKBOARD}_hw.zip").local_time == datetime(2026, 11, 20, 23, 58)
    assert blackboard.parse(f"{BLACKBOARD}.txt").is_about
    for own in ("notes.txt", "2026-11-20-23-58-00.txt"):
        found = blackboard.parse(f"{BLACKBOARD}_{own}")
        assert (found.is_about, found.file) == (False, own)


def test_what_was_typed_into_a_platform_is_no_part_of_a_submission():
    assert Naming("moodle").parse("Ann_1_assignsubmission_onlinetext").is_about
    for name in ("doejane_104_text.html", "anon_3fA2k_link.html"):
        assert Naming("canvas").parse(name).is_about


def test_feedback_for_canvas_needs_the_number_of_a_file():
    """Which differs between the files of one submission, and is no part of its label."""
    one, other = map(
        Naming("canvas").parse, ("doejane_LATE_104_9_ring.py", "doejane_LATE_104_10_naive.py")
    )
    assert one.label == other.label
    assert one.sent_as == "doejane_LATE_104_9_"


def student(identity, **known_as):
    return Student(identity, {"id": identity, **known_as})


CLASS = Roster(
    (
        student("ann", name="Ann Lee", moodle="101", canvas="201", github="ann"),
        student("eve", name="Eve Evil", moodle="7", canvas="999", github="eve"),
    )
)
OF_NAMES = Roster(tuple(student(each.id, name=each.name) for each in CLASS.listed))
"""The same class, by a roster without numbers."""

BY_EVE = {
    # What the review describes: another's number at the end of a file's name.
    ("moodle", "Eve Evil_7_assignsubmission_file_hw_101_assignsubmission_file_x.zip"): set(),
    # The team has no number, and the first number is in the name of the file.
    ("moodle", "Default group_assignsubmission_file_x_101_assignsubmission_file_y.zip"): set(),
    # Blackboard, likewise; its times are those of the first place.
    ("blackboard", f"{BLACKBOARD}_x_ann_attempt_2026-11-19-00-00-00_hw.zip"): {"eve"},
    ("blackboard", f"{BLACKBOARD}_HW 3_ann_attempt_2026-11-19-00-00-00.txt"): {"eve"},
    ("blackboard", f"{BLACKBOARD}_x_ann_attempt_2026-99-99-99-99-99_hw.zip"): {"eve"},
    # One platform's name as another's.
    ("canvas", "evileve_999_5000_b_ann_attempt_2026-01-01-00-00-00_x.zip"): {"eve"},
    ("canvas", "evileve_999_5000_x_101_assignsubmission_file_y.zip"): {"eve"},
    ("blackboard", f"{BLACKBOARD}_z_101_assignsubmission_file_q.zip"): {"eve"},
    ("blackboard", f"{BLACKBOARD}_z_201_5000_q.zip"): {"eve"},
    ("moodle", "Eve Evil_7_assignsubmission_file_ann_attempt_2026-11-19-00-00-00_x.zip"): {"eve"},
    # What one is called on Canvas, with another's number at its end.
    ("canvas", "leeann_201_999_5000_x.zip"): set(),
    ("canvas", "leeann_\uff12\uff10\uff11_999_5000_x.zip"): {"eve"},
    # Whose user name ends with another's.
    ("github", "hw3-x-ann"): set(),
    ("blackboard", "HW 3_x_ann_attempt_2026-11-19-00-00-00_hw.zip"): set(),
    ("blackboard", "HW 3b_ann_attempt_2026-11-19-00-00-00_hw.zip"): set(),
}


@pytest.mark.parametrize(("platform", "name"), BY_EVE)
@pytest.mark.parametrize("roster", [CLASS, OF_NAMES])
def test_what_a_student_writes_makes_no_hand_in_anothers(platform, name, roster):
    """Nearly all of these counted for Ann when a name was read from its end, as any platform's."""
    naming = Naming(platform, "hw3" if platform == "github" else "HW 3", roster)
    found = naming.parse(name)
    authors = roster.authors(hand_in(who=found.who or {"id": ""}))
    known = {each.id for each in authors}
    assert known <= BY_EVE[platform, name]
    if roster is CLASS:
        assert known == BY_EVE[platform, name]
    if known and platform == "blackboard":
        assert found.local_time == datetime(2026, 11, 20, 23, 58)


def test_a_late_hand_in_stays_late_whatever_one_is_called_on_canvas():
    """The own number, written a second time without `LATE`, is a second reading."""
    name = "eve_999_5__LATE_999_5000_x.zip"
    found = Naming("canvas", roster=CLASS).parse(name)
    assert not found.who and found.problem.startswith(
        f"{name} can mean canvas 999 or canvas 999, and the roster does not say which. Move all"
    )


def test_a_number_before_the_name_of_a_file_is_no_student():
    """The roster tells, where it has the numbers of all: nobody there has that of the file."""
    name = "leeann_201_77_20261234_hw.zip"
    assert Naming("canvas", roster=CLASS).parse(name).who["canvas"] == "201"
    for roster in (OF_NAMES, Roster()):
        found = Naming("canvas", roster=roster).parse(name)
        assert not found.who and "201 or canvas 77, and the roster does not" in found.problem
        assert "say which. Add every student's canvas number to the roster, or" in found.problem


def test_of_many_readings_two_are_told():
    found = Naming("canvas").parse("leeann_201_77_78_79_80_hw.zip")
    assert "can mean canvas 201 or canvas 77, and the roster" in found.problem
    assert len(found.maybe_of) == 4


def test_an_older_canvas_says_late_in_small_letters():
    for name in ("doejane_late_104_9_hw.zip", "late_anon_3fA2k_9_hw.zip"):
        found = Naming("canvas").parse(name)
        assert found.is_called_late and "late" not in found.who.get("canvas_name", "")


def test_what_goes_back_is_named_by_the_numbers_alone():
    """As Moodle takes the first number behind an underline, and Canvas the first two."""
    sent_as = Naming("canvas").parse("2\uff1201_999_5000_x.zip").sent_as
    assert sent_as == "student_999_5000_"
    assert Naming("moodle").parse("Ann_1_assignsubmission_file_x").sent_as == (
        "Ann_1_assignsubmission_file_/"
    )


def test_beside_the_names_of_a_platform_there_are_ids_on_the_roster_alone():
    """Any other file that lies there would be a student, or Eve's choice."""
    for platform in PLATFORMS:
        assert Naming(platform, "hw3", CLASS).parse("ann.zip").who == {"id": "ann"}
        for name, roster in (("ann.zip", Roster()), ("bo.zip", CLASS)):
            found = Naming(platform, "hw3", roster).parse(name)
            assert not found.who
            assert f"does not match {platform}'s names for hand-ins of 'hw3'" in found.problem


@pytest.mark.parametrize(
    ("name", "platform"),
    [
        ("Bo_Li_12_assignsubmission_file_hw_3.zip", "moodle"),
        ("doejane_104_9_hw.zip", "canvas"),
        ("anon_3fA2k_9_hw.zip", "canvas"),
        ("HW 3_jd42_attempt_2026-11-20-23-58-00.txt", "blackboard"),
        ("submission_5", "gradescope"),
        ("anna", ""),
        ("team_2_3", ""),
    ],
)
def test_the_names_of_a_platform_are_known_before_it_is_declared(name, platform):
    """But an id on the roster is an id, whatever it looks like."""
    assert Naming().undeclared(name) == platform
    assert not Naming(roster=Roster((student(name),))).undeclared(f"{name}.zip")

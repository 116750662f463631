"""Who handed in what, by the names that platforms give."""

from datetime import datetime

import pytest

from grader.classroom.hand_in_names import parse

NAMES = {
    # Moodle, "Download all submissions", with folders and without.
    "Ann O'Hara_4711_assignsubmission_file_": (
        "Ann O'Hara_4711_assignsubmission_file",
        {"name": "Ann O'Hara", "moodle": "4711"},
        "",
    ),
    "Bo_Li_12_assignsubmission_file_hw_3.zip": (
        "Bo_Li_12_assignsubmission_file",
        {"name": "Bo_Li", "moodle": "12"},
        "hw_3.zip",
    ),
    "Participant_99_assignsubmission_file_ring.py": (
        "Participant_99_assignsubmission_file",
        {"name": "Participant", "moodle": "99"},
        "ring.py",
    ),
    # Canvas.
    "doejane_104_9_hw.zip": (
        "doejane_104",
        {"canvas": "104", "canvas_name": "doejane"},
        "hw.zip",
    ),
    "doejane_LATE_104_9_my_ring.py": (
        "doejane_LATE_104",
        {"canvas": "104", "canvas_name": "doejane"},
        "my_ring.py",
    ),
    "anon_3fA2k_9_hw.zip": ("anon_3fA2k", {"canvas": "anon_3fA2k"}, "hw.zip"),
    "LATE_anon_3fA2k_9_hw.zip": ("LATE_anon_3fA2k", {"canvas": "anon_3fA2k"}, "hw.zip"),
    "van_der_bo_104_9_hw.zip": (
        "van_der_bo_104",
        {"canvas": "104", "canvas_name": "van_der_bo"},
        "hw.zip",
    ),
    # Gradescope.
    "submission_31415": ("submission_31415", {"gradescope": "31415"}, ""),
    # Blackboard.
    "HW 3_jd42_attempt_2026-11-20-23-58-00_hw.zip": (
        "HW 3_jd42_attempt_2026-11-20-23-58-00",
        {"blackboard": "HW 3_jd42"},
        "hw.zip",
    ),
    # A folder or an archive called by the id, such as a checkout.
    "anna": ("anna", {"id": "anna"}, ""),
    "anna.tar.gz": ("anna", {"id": "anna"}, "anna.tar.gz"),
    "ANNA.ZIP": ("ANNA", {"id": "ANNA"}, "ANNA.ZIP"),
    "anna.rar": ("anna", {"id": "anna"}, "anna.rar"),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_says_whose_it_is(name):
    found = parse(name)
    assert (found.label, dict(found.who), found.file) == NAMES[name]


def test_canvas_says_what_is_late_and_numbers_what_is_handed_in_again():
    """The number is no part of the name that the assignment asks for."""
    found = parse("doejane_LATE_104_9_my_ring-2.py")
    assert (found.is_called_late, found.file_before) == (True, "my_ring.py")
    assert not parse("doejane_104_9_my_ring.py").is_called_late


def test_blackboard_says_when_and_adds_a_text_about_it():
    name = "HW 3_jd42_attempt_2026-11-20-23-58-00"
    assert parse(f"{name}_hw.zip").local_time == datetime(2026, 11, 20, 23, 58)
    assert parse(f"{name}.txt").is_about
    assert not parse(f"{name}_notes.txt").is_about


def test_what_was_typed_into_moodle_is_no_part_of_a_submission():
    assert parse("Ann_1_assignsubmission_onlinetext").is_about
    assert parse("doejane_104_text.html").is_about and parse("anon_3fA2k_link.html").is_about


def test_feedback_for_canvas_needs_the_number_of_a_file():
    """Which differs between the files of one submission, and is no part of its label."""
    one, other = parse("doejane_LATE_104_9_ring.py"), parse("doejane_LATE_104_10_naive.py")
    assert one.label == other.label
    assert one.sent_as == "doejane_LATE_104_9"

"""Which names count for a file that is asked for, and which are those of other files."""

import itertools
import time

import pytest

from grader.course.courses import bundled
from grader.intake.placement.matching import Rule, counts_for, num_folders_above, rule_of
from grader.intake.placement.table import names_of

ADDED, SPELT = Rule.WITH_ADDITIONS, Rule.SAME_LETTERS
RING = ("my_ring.py", "1a.py")
PART = ("part1/main.py",)


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("my_ring.py", Rule.OWN_NAME),
        ("repo-main/src/my_ring.py", Rule.OWN_NAME),
        ("code.zip/my_ring.py", Rule.OWN_NAME),
        ("all.ipynb/my_ring.py", Rule.OWN_NAME),
        ("1a.py", Rule.OTHER_NAME),
        ("hw/1a.py", Rule.OTHER_NAME),
        ("My_Ring.PY", SPELT),
        ("my-ring.py", SPELT),
        ("my ring.py", SPELT),
        ("MyRing.py", SPELT),
        ("1A.py", SPELT),
        ("my_ring (1).py", ADDED),
        ("my_ring(12).py", ADDED),
        ("my_ring-1.py", ADDED),
        ("my_ring_2.py", ADDED),
        ("my_ring copy.py", ADDED),
        ("my_ring copy 2.py", ADDED),
        ("my_ring - Copy (3).py", ADDED),
        ("my_ring (copy).py", ADDED),
        ("my_ring - Kopie.py", ADDED),
        ("my_ring_final.py", ADDED),
        ("my_ring_FINAL_v2 (1).py", ADDED),
        ("my_ring_late.py", ADDED),
        ("my_ring.v2.py", ADDED),
        ("My-Ring_final-1.py", ADDED),
        ("leeann_123_456_my_ring.py", ADDED),
        ("leeann_LATE_123_456_my_ring-1.py", ADDED),
        ("lee_ann_123_456_1a.py", ADDED),
        ("student2_my_ring.py", ADDED),
        ("hw3-my-ring.py", ADDED),
        ("Ann Lee_123456_assignsubmission_file_my_ring.py", ADDED),
        ("hw1_ann_attempt_2026-01-02-10-00-00_my_ring.py", ADDED),
        ("Ann Lee_1_assignsubmission_file_/my_ring.py", Rule.OWN_NAME),
    ],
)
def test_names_that_count(path, rule):
    """As written by platforms, browsers, systems and people."""
    assert rule_of(path, RING) is rule


@pytest.mark.parametrize(
    "path",
    [
        "ring.py",
        "test_my_ring.py",
        "test_1_my_ring.py",
        "my_ring_test.py",
        "my_ring_1_test.py",
        "old_my_ring.py",
        "old1_my_ring.py",
        "my_ring_old.py",
        "my_ring_backup.py",
        "not_my_ring.py",
        "my_ring2.py",
        "my_ring_allreduce.py",
        "my_ring_allreduce_1.py",
        "my_ring_123456.py",
        "my.py",
        "my/ring.py",
        "my_ring/main.py",
        "my_ring.txt",
        "my_ring.py.txt",
        "my_ring.ipynb",
        "my_ring.pyc",
        "my_ring",
        "1b.py",
        "11a.py",
        "1a1.py",
        "part_1a.py",
        "1.py",
        "a.py",
        "1.pyc",
        "(1).py",
        "_.py",
        ".py",
        "旧_my_ring.py",
    ],
)
def test_names_of_other_files(path):
    """A test, an older version, a file for something else, a file of another kind."""
    assert rule_of(path, RING) is None


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("part1/main.py", Rule.OWN_NAME),
        ("hw/part1/main.py", Rule.OWN_NAME),
        ("Part1/main.py", SPELT),
        ("Part 1/Main.py", SPELT),
        ("hw/part_1/main.py", SPELT),
        ("part1_main.py", SPELT),
        ("part1-main.py", SPELT),
        ("part1/main (1).py", ADDED),
        ("part1/lee_123_main.py", ADDED),
        ("lee_123_456_part1_main.py", ADDED),
        ("part1_main-1.py", ADDED),
        ("main.py", None),
        ("main_1.py", None),
        ("part2/main.py", None),
        ("part2_main.py", None),
        ("part11/main.py", None),
        ("mypart1/main.py", None),
        ("part1/old/main.py", None),
        ("part1/main_isend.py", None),
        ("part1.py", SPELT),
        ("hw/Part-1 (1).py", ADDED),
    ],
)
def test_a_file_in_a_folder_of_the_assignment(path, rule):
    """Its folder belongs to its name, and may stand before it."""
    assert rule_of(path, PART) is rule


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        ("allreduce.py", "ring_allreduce.py"),
        ("allreduce.py", "part2_ring_allreduce.py"),
        ("network.py", "sync_network.py"),
        ("network.py", "old_network.py"),
        ("network.py", "network2.py"),
        ("sync_network.py", "async_network.py"),
        ("sync_network.py", "sync_network_collective.py"),
        ("sync_network.py", "1_async_network.py"),
        ("my_ring_allreduce.py", "my_ring_allreduce_test.py"),
        ("fed_avg.py", "fed_avg_plot.py"),
        ("utils.py", "utils_test.py"),
        ("report.pdf", "report.py"),
        ("report.pdf", "report_draft.pdf"),
    ],
)
def test_names_near_those_of_the_assignments(asked, path):
    """Which are those of other files."""
    assert rule_of(path, (asked,)) is None


@pytest.mark.parametrize("name", bundled().names())
def test_no_name_of_an_assignment_counts_for_another(name):
    """Neither asked nor given files, whatever is added to their names on the way."""
    names = names_of(bundled().load(name))
    for own, path in itertools.product(names, [path for each in names.values() for path in each]):
        stem, _, suffix = path.rpartition(".")
        folder, slash, last = stem.rpartition("/")
        for changed in (
            path,
            f"hw/{path}",
            f"{stem} (1).{suffix}",
            f"{stem}_final-2.{suffix}",
            f"{folder}{slash}lee_123_456_{last}.{suffix}",
            path.upper(),
            path.replace("_", "-"),
            path.replace("/", "_"),
        ):
            found = counts_for(changed, names)
            assert set(found) <= {each for each in names if path in names[each]}, changed
            assert (own in found) == (path in names[own]), changed


def test_the_best_rule_decides_which_file_it_is():
    """What has the name of another file, asked for or given, was not meant to be this one."""
    names = {
        "part1/main.py": PART,
        "part2/main.py": ("part2/main.py",),
        "1_ring.py": ("1_ring.py",),
    }
    assert set(counts_for("part1/part2_main.py", names)) == {"part2/main.py"}
    names["ring.py"] = ("ring.py",)
    assert counts_for("1_ring.py", names) == {"1_ring.py": Rule.OWN_NAME}
    assert counts_for("1-ring.py", names) == {"1_ring.py": SPELT}
    assert counts_for("2_ring.py", names) == {"ring.py": ADDED}
    assert counts_for("else.py", names) == {}


@pytest.mark.parametrize(
    ("path", "expected"), [("main.py", 0), ("part1/main.py", 0), ("a/part1/main.py", 1)]
)
def test_folders_are_counted_from_the_place_that_is_asked_for(path, expected):
    """A file above its place is as near as one in it."""
    assert num_folders_above(path, PART) == expected


@pytest.mark.parametrize(
    "stem", ["1_", "_v__v_", "_", " ", "(", "(1)", "_final", "9", "copy of ", "1_ring_", ".", "-1-"]
)
def test_long_names_take_no_time(stem):
    """As anybody can make them."""
    started_s = time.perf_counter()
    for number in range(50):
        path = f"{number}/{stem * (250 // len(stem))}"
        rule_of(f"{path}ring.py", ("ring.py",))
        rule_of(f"{path}x.py", ("ring.py",))
        rule_of(f"{path}.py", ("ring.py",))
    assert time.perf_counter() - started_s < 5

"""What somebody meant: the nearest of the known names, or none."""

import pytest

from grader.model.spelling import did_you_mean, meant_files, nearest

PARTS = ["sync_collective", "naive_allreduce", "ring_allreduce", "sync_ring", "async_masters"]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("ring", "ring_allreduce"),
        ("RingAllReduce", "ring_allreduce"),
        ("ring-allreduce", "ring_allreduce"),
        ("naive_alreduce", "naive_allreduce"),
        ("sync", "sync_collective"),
        ("async", "async_masters"),
        ("gather_scatter", None),
        ("", None),
    ],
)
def test_the_nearest_name_is_found(name, found):
    """By its letters, by how it begins, or by few letters that differ."""
    assert nearest(name, PARTS) == found
    assert did_you_mean(name, PARTS) == (f". Did you mean {found}?" if found else "")


def test_each_file_is_meant_to_be_one_at_most():
    """The most alike first; another kind of file, or one that is less deep, is never meant."""
    found = ["Part 1/main.py", "task2a/main.py", "main.py", "part1/main.txt", "x/y/PART2B/main.py"]
    missing = ["part1/main.py", "part2a/main.py", "part2b/main.py", "part3/main.py"]
    assert meant_files(missing, found) == {
        "part1/main.py": "Part 1/main.py",
        "part2a/main.py": "task2a/main.py",
        "part2b/main.py": "x/y/PART2B/main.py",
    }


def test_what_is_unlike_is_not_meant():
    """A guess that is wrong helps nobody."""
    assert meant_files(["psgd.py"], ["psgd (1).py"]) == {"psgd.py": "psgd (1).py"}
    assert meant_files(["my_ring_allreduce.py"], ["ring.py", "utils.py", "main.py"]) == {}

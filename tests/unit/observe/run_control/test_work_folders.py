"""The folders of a submission that ranks work in."""

from grader.observe.run_control.sandbox import work_folders


def test_folders_are_there_from_the_root_and_from_each_script():
    """Those with scripts, too; none twice."""
    found = work_folders(
        ["a.py", "part1/main.py", "x/y/z.py"], ("output", "part1/output", "x/y/out")
    )
    assert found == ["out", "output", "part1", "x", "part1/output", "x/y", "y/out", "x/y/out"]


def test_there_are_only_so_many():
    """The nearest."""
    scripts = [f"folder{number:03}/inner/a.py" for number in range(150)]
    found = work_folders(scripts, ["out"])
    outer = [f"folder{number:03}" for number in range(150)]
    assert found == [*outer, "out", *(f"{folder}/inner" for folder in outer[:49])]

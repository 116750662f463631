"""What a plan says of the folders that ranks work in."""

from grader.runner.launch_plan import LaunchPlan


def plan(*files: str, folders: tuple[str, ...] = ()) -> LaunchPlan:
    return LaunchPlan(
        ranks=1,
        cases=(),
        probes={},
        backend="none",
        standalone=False,
        entry="go()",
        submission=dict.fromkeys(files, b""),
        support={},
        folders=folders,
    )


def test_folders_are_there_from_the_root_and_from_each_script():
    """Those with scripts, too; none twice."""
    found = plan("a.py", "part1/main.py", "x/y/z.py", folders=("output", "part1/output", "x/y/out"))
    assert found.work_folders == [
        *("out", "output", "part1", "x", "part1/output", "x/y", "y/out", "x/y/out"),
    ]


def test_there_are_only_so_many():
    """The nearest."""
    folders = tuple(f"folder{number}/inner" for number in range(150))
    scripts = [f"folder{number}/a.py" for number in range(150)]
    assert len(plan(*scripts, folders=folders).work_folders) == 200

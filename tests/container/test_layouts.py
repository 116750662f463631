"""A hand-in gets the same table and the same marks from `check`, `run` and `class`."""

import csv
import json

import pytest
from layouts import LAYOUTS, written
from red_team import images
from this_checkout import grade

QUICK = LAYOUTS[3::16]
"""Those of each push."""


@pytest.mark.parametrize(
    "layouts", [QUICK, pytest.param(LAYOUTS, marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_three_ways_to_grade_are_one(tmp_path, layouts):
    """The points are those of the layout, and a zero of a class has its reason."""
    images.require()
    for number, layout in enumerate(layouts):
        written(layout, tmp_path / "in" / f"student{number:02}")
    options = ("--assignment", "mpi_sgd", "--out", tmp_path / "out")
    done = grade("class", tmp_path / "in", *options, limit_s=3000)
    with (tmp_path / "out" / "gradebook.csv").open() as file:
        rows = {row["hand_in"]: row for row in csv.DictReader(file)}
    assert len(rows) == len(layouts), done.stdout + done.stderr
    for number, layout in enumerate(layouts):
        folder = tmp_path / "in" / f"student{number:02}"
        found = {}
        for way in ("check", "run"):
            printed = grade(way, folder, "--assignment", "mpi_sgd", "--json", "-")
            assert printed.stdout, (layout.name, printed.stderr)
            found[way] = json.loads(printed.stdout)
        assert found["check"]["files"] == found["run"]["files"], layout.name
        row = rows[folder.name]
        scores = [found["check"]["score"], found["run"]["score"], float(row["tests"])]
        assert scores == [layout.points] * 3, (layout.name, row)
        assert layout.points or row["reasons"], layout.name

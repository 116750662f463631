"""The price lists in docs/prices are those of the suites, and their sums those of the parts."""

from pathlib import Path

import pytest

from grader.authoring import price_list
from grader.courses import bundled
from grader.errors import GraderError
from grader.points import total
from grader.suite.prices import prices

ROOT = Path(__file__).resolve().parents[1]
SUITES = ROOT / "tests" / "suites"


@pytest.mark.parametrize("name", bundled().names())
def test_the_page_is_made_from_the_suites(name):
    """`make docs` writes it."""
    found = bundled().load(name)
    by_part = {part.name: prices(found.folder / part.suite) for part in found.parts}
    assert (ROOT / "docs" / "prices" / f"{name}.md").read_text() == price_list.prices(
        found, by_part
    )
    for part in found.parts:
        assert total(price.points for price in by_part[part.name]) == part.points, part.name


def test_a_suite_that_cannot_be_read_is_named(tmp_path):
    """With the line and what is wrong with it."""
    suite = tmp_path / "test_thing.py"
    suite.write_text("import nothing_of_that_name\n")
    with pytest.raises(GraderError, match=r"test_thing.py could not be read: test_thing.py:1"):
        prices(suite)

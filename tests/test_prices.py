"""A price list has every test of its suites, and its sums are those of the parts."""

import pytest

from grader.addons.authoring import catalogue
from grader.course.courses import bundled
from grader.grading_plugin.session import prices
from grader.model.errors import GraderError
from grader.model.points import total, written


@pytest.mark.parametrize("name", bundled().names())
def test_a_list_is_made_from_the_suites(name):
    """Each test has its line, with what it pays."""
    found = bundled().load(name)
    by_part = {part.name: prices(found.folder / part.suite) for part in found.parts}
    page = catalogue.prices(found, by_part)
    for part in found.parts:
        assert total(price.points for price in by_part[part.name]) == part.points, part.name
        for price in by_part[part.name]:
            if price.at_least is None:
                assert f"| {written(price.points)} | `{price.test}` | {price.asks} |" in page


def test_a_suite_that_cannot_be_read_is_named(tmp_path):
    """With the line and what is wrong with it."""
    suite = tmp_path / "test_thing.py"
    suite.write_text("import nothing_of_that_name\n")
    with pytest.raises(GraderError, match=r"test_thing.py could not be read: test_thing.py:1"):
        prices(suite)

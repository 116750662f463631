"""The page of prices: a row for each test, and below what a part is paid at least."""

from pathlib import Path

from grader.addons.authoring.catalogue import prices
from grader.course.assignment import Assignment
from grader.course.assignment_file import Part
from grader.grading_plugin.session import Price
from grader.grading_plugin.session import prices as prices_in

PART = Part("ring", "Ring", ("ring.py",), "f()", "test_ring.py", 2.5, "mpi", 1)
SUITE = '''
from grader.api import part, points, stage

pytestmark = [part("ring")]

@points(2.5)
def test_sums():
    """sums"""

@stage(0.5)
def test_sends():
    """sends its array to the right"""

@stage(1)
def test_first_step():
    """sends its first chunk to the right"""
'''


def test_stages_stand_below_the_table(tmp_path):
    """Most points first; they are no tests that pay."""
    (tmp_path / "test_ring.py").write_text(SUITE)
    found = prices_in(tmp_path / "test_ring.py")
    assert found[1] == Price("test_sends", 0.0, "sends its array to the right", "ring", 0.5)
    page = prices(Assignment("it", "It", Path("it"), (), (PART,), ()), {"ring": found})
    assert page.endswith(
        "| 2.5 | `test_sums` | sums |\n"
        "\n"
        "- At least 1 point if the code sends its first chunk to the right.\n"
        "- At least 0.5 points if the code sends its array to the right.\n"
    )

"""What an author may get wrong is found by `grade verify`, with what to do about it."""

import re

import pytest

from grader.addons.authoring import skeleton
from grader.addons.authoring.verification.verify import verify
from grader.course.course import Course

SUITE = "tests/suites/sums/test_sum.py"
TOML = "tests/suites/sums/assignment.toml"
PROBES = "tests/suites/sums/probes.py"
BUG = "tests/submissions/wrong_answer/sums/only_the_neighbour"


HIDDEN = '''
import pytest
from grader.api import part, points

from .test_sum import CASES, assert_sums

pytestmark = [part("sum"), pytest.mark.mpi]


@points(3)
@pytest.mark.parametrize("ranks", [5, 6])
def test_many_ranks(run, ranks):
    """Five and six ranks, which no visible test has, hold the sum."""
    for case, outcome in run(ranks, CASES):
        assert_sums(case, outcome)
'''


@pytest.fixture
def root(tmp_path):
    """Return a course with one assignment as `grade new` writes it."""
    skeleton.write(tmp_path, "sums")
    return tmp_path


def change(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def found(root, ranks=None, *, with_mutants=False):
    """Return what is wrong, a line each: check, subject, text. Without ranks nothing is graded."""
    checked = verify(
        Course.read(root),
        "sums",
        is_quick=ranks is None,
        with_mutants=with_mutants,
        progress=lambda text: None,
        observe=ranks and ranks.observer_with(()),
    )
    return [
        f"{each.check}: {problem.subject}: {problem.text}"
        for each in checked
        for problem in each.problems
    ]


def test_a_new_assignment_is_right(root, ranks):
    """It grades at once, and its labels are what they say."""
    assert found(root, ranks, with_mutants=True) == []


def test_a_suite_that_is_right_for_some_inputs_only_is_found(root, ranks):
    """Each sealed grading draws its inputs, and would doubt right code."""
    change(
        root / SUITE,
        """            assert_unchanged(outcome["send"]""",
        """            assert outcome.inputs[0]["send"][0] < -0.1
            assert_unchanged(outcome["send"]""",
    )
    (problem,) = found(root, ranks)
    assert problem.startswith("reference gets all points: reference, sum, with other inputs: ")
    assert "test_send_is_left_alone" in problem


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        (
            SUITE,
            'part("sum")',
            'part("smu")',
            r"found part\('smu'\); expected part\('sum'\)",
        ),
        (
            SUITE,
            "@points(5,",
            "@points(4,",
            "its tests are worth 9 points, but assignment.toml says 10",
        ),
        (
            SUITE,
            "import pytest\n",
            "import pytest\nfrom grader.api import stage\n"
            '@stage(10)\n@pytest.mark.part("sum")\ndef test_begins():\n    "begins"\n',
            "test_begins is a stage of 10 points; expected more than 0 and fewer than the part's",
        ),
        (
            SUITE,
            "def test_send",
            "def test_send(",
            "suites: test_sum\\.py: the suite test_sum\\.py could not be read: "
            "test_sum\\.py:\\d+ is not valid Python: .*, found `def "
            "test_send\\(_is_left_alone\\(run\\):`; correct it$",
        ),
        (
            SUITE,
            "assert_unchanged,",
            "assert_unchange,",
            "imports assert_unchange from grader.api, .* Did you mean assert_unchanged",
        ),
        (TOML, "test_sum.py", "test_sums.py", r"suite: found .* Did you mean test_sum\.py"),
        (TOML, "rules =", "rule =", "rule: unknown key; .* Did you mean rules"),
        (TOML, "points = 10", "points = -10", "points: found -10; expected a number of points"),
        (TOML, '"mpi"', '"npi"', 'backend: found "npi"; .* Did you mean mpi'),
        (
            TOML,
            '"my_sum.py"]',
            '"my_sums.py"]',
            "my_sums.py: assignment.toml names this file, but the",
        ),
        (
            "reference/sums/my_sum.py",
            "element-wise",
            "exact",
            "template: .*my_sum.py is out of date: line \\d+ .*; write the template again: `grade "
            "--course",
        ),
        (
            "reference/sums/HANDOUT.md",
            "| 5 | the sum",
            "| 6 | the sum",
            r"handout: HANDOUT\.md:\d+: the column points adds up to 11, but assignment\.toml "
            "gives sum 10 points; change one of them",
        ),
        (
            f"{BUG}/expected.toml",
            "subject",
            "subjects",
            "subjects: unknown key; .* Did you mean subject",
        ),
        (
            f"{BUG}/expected.toml",
            '"sum"',
            '"sun"',
            "names the part 'sun', which does not exist. Did you mean sum",
        ),
        (f"{BUG}/expected.toml", "_gets_the_sum", "_gets_it", "names test_every_rank_gets_it"),
    ],
)
def test_a_slip_in_a_file_is_found_without_starting_ranks(root, file, old, new, told):
    change(root / file, old, new)
    problems = found(root)
    assert any(_matches(told, problem) for problem in problems), problems


def test_a_part_has_its_name_in_three_kinds_of_files(root):
    """Those that `grade new` names; where one is left out, it is told."""
    change(root / TOML, 'name = "sum"', 'name = "scan"')
    told = "\n".join(found(root))
    assert "found part('sum'); expected part('scan')" in told
    assert told.count("names the part 'sum', which does not exist") == 3
    change(root / SUITE, 'part("sum")', 'part("scan")')
    for label in root.glob("tests/submissions/*/sums/*/expected.toml"):
        change(label, 'part = "sum"', 'part = "scan"')
    assert found(root) == []


def test_what_is_not_there_is_named(root):
    (root / "student_template/sums/HANDOUT.md").unlink()
    (root / "reference/sums/my_sum.py").unlink()
    told = "\n".join(found(root))
    assert "students need a handout" in told
    assert "assignment.toml names this file, but the reference does not have it" in told


def test_hidden_tests_in_what_students_get_are_found(root):
    """As a file, and as lines that were copied."""
    suite = root / "tests/suites/sums/hidden_sum.py"
    suite.write_text((root / SUITE).read_text().replace("every send waits", "all sends do wait"))
    (root / "student_template/sums/hidden_sum.py").write_text("")
    (root / "student_template/sums/hidden_layer.py").write_text("")  # a network's
    told = "\n".join(found(root))
    assert "hidden_sum.py: students get this hidden test" in told
    assert "hidden_layer.py: students get this hidden test" not in told
    assert "test_sum.py: students get this file, but it has a line from hidden_sum.py" in told
    assert "hidden_sum.py: its tests are worth 10 points, but assignment.toml says 0" in told


def test_what_students_get_is_looked_at_as_they_get_it(root):
    """A file that is given in place of another one is; one that is not listed is not."""
    folder = root / "tests/suites/sums"
    toml = (root / TOML).read_text()
    (root / TOML).write_text(f'students = ["__init__.py", "probes.py", "test_sum.py"]\n{toml}')
    line = '"""Numbers that no visible test of this assignment has."""\n'
    (folder / "hidden_sum.py").write_text(line)
    (folder / "not_given.py").write_text(line)
    leak = "students get this file, but it has a line from hidden_sum.py"
    assert leak not in "\n".join(found(root))
    (folder / "students").mkdir()
    (folder / "students/probes.py").write_text(line)
    assert f"students/probes.py: {leak}" in "\n".join(found(root))
    change(root / TOML, '"probes.py"', '"probes.py", "hidden_sum.py"')
    assert "`students` lists hidden_sum.py, which is hidden; take it off" in "\n".join(found(root))


def test_a_test_that_course_only_misspells_is_told(root):
    """Nobody would leave it out."""
    change(root / TOML, "points = 10\n", 'points = 10\ncourse_only = ["test_sum_is_wrote"]\n')
    (told,) = found(root)
    assert "course_only names test_sum_is_wrote, " in told
    assert told.endswith("which is not a test of sum")


def test_a_mistake_in_the_reference_that_no_test_finds_is_told(root, ranks):
    """With the key under which to say why it need not be found."""
    reference = root / "reference/sums/my_sum.py"
    change(reference, "    # end of solution", "    arrived.clear()\n    # end of solution")
    told = found(root, ranks, with_mutants=True)
    assert [each.partition(": ")[0] for each in told] == ["mutants"]
    assert "no test notices when 'arrived.clear()' is changed to 'pass'" in told[0]
    key = told[0].partition("are correct: '")[2].partition("'")[0]
    (root / "tests/mutation").mkdir()
    (root / "tests/mutation/equivalent.toml").write_text(f"'{key}' = 'nobody looks at it again'\n")
    assert found(root, ranks, with_mutants=True) == []
    reference.chmod(0o444)
    assert found(root, ranks, with_mutants=True) == []


def test_hidden_tests_of_the_same_shape_are_no_leak(root):
    """Loops and calls are alike in all suites."""
    (root / "tests/suites/sums/hidden_sum.py").write_text(HIDDEN)
    toml = root / TOML
    toml.write_text(toml.read_text().replace("points = 10\n", "points = 10\nhidden_points = 3\n"))
    assert found(root) == []


def test_labels_that_nobody_would_look_at_are_told(root):
    (root / "tests/submissions/wrong_answer/sums").rename(
        root / "tests/submissions/wrong_answer/sum"
    )
    assert "wrong_answer/sum: no assignment has this name" in "\n".join(found(root))


def test_an_assignment_without_wrong_submissions_shows_nothing(root):
    for kind in ("wrong_answer", "deadlock"):
        (root / "tests/submissions" / kind).rename(root / kind)
    assert "no wrong submission to show that the suites find mistakes" in "\n".join(found(root))


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        (
            SUITE,
            "atol=tolerance",
            "rtol=0.1",
            "near misses: sum, test_sums_come_from_messages: passes when recv is 1% too large",
        ),
        (
            SUITE,
            "run(3, UNBUFFERED)",
            "run(3, CASES + UNBUFFERED)",
            "reference, sum: .* a test loops over cases with and without buffering",
        ),
        (PROBES, '"my_sum.py", "sum_', '"my_sum.py", "summ_', "reference, sum: .* not define summ"),
        (
            SUITE,
            '[{"send": random',
            '[{"sent": random',
            r"the suite calls its probe with the wrong arguments: sum_over_ranks\(\) got an "
            r"unexpected .*'sent'",
        ),
        (
            SUITE,
            "    for case, outcome in run(ranks, CASES):\n",
            "    for case, outcome in run(ranks, CASES):\n        {}[99]\n",
            r"the grader failed at test_sum.py:\d+: KeyError: 99",
        ),
        (
            f"{BUG}/expected.toml",
            "fair_share = 0.4",
            "fair_share = 0.9",
            "labelled submissions: .*only_the_neighbour: found 4 of 10 points, but",
        ),
        (
            "student_template/sums/my_sum.py",
            "raise NotImplementedError",
            "return print",
            "template, sum: expected NOT_ATTEMPTED and no points",
        ),
    ],
)
def test_a_slip_that_only_grading_shows_is_found(root, ranks, file, old, new, told):
    change(root / file, old, new)
    problems = found(root, ranks)
    assert any(_matches(told, problem) for problem in problems), problems


def _matches(pattern, text):
    return re.search(pattern, text, re.DOTALL) is not None

"""The handout of some parts says nothing of the others in headings, tables and questions."""

from argparse import Namespace

import pytest

from grader.addons.authoring import template
from grader.addons.authoring.authoring_commands import write_template
from grader.addons.authoring.template import of_parts
from grader.addons.authoring.verification.static_checks import _tables, _wrong_parts
from grader.course.assignment import Assignment
from grader.course.courses import bundled
from grader.model.errors import UsageError


def handout(name):
    assignment = bundled().load(name)
    return assignment, (assignment.reference / template.HANDOUT).read_text()


@pytest.mark.parametrize("name", bundled().names())
def test_all_parts_are_the_handout_as_it_is(name):
    assignment, text = handout(name)
    assert of_parts(text, assignment, assignment.part_names) == text


def test_a_question_is_called_the_same_with_one_all_reduce_as_with_both():
    """A class may set one of them only; what each is asked for is in the rubric."""
    titles = [each.title for each in bundled().load("mpi_sgd").manual]
    assert not [title for title in titles if {"naive", "ring"} & {*title.lower().split()}]


@pytest.mark.parametrize("name", bundled().names())
def test_some_parts_are_a_handout_whose_tables_are_right(name):
    """By the check that `grade verify` makes; what is left reads on in its order."""
    assignment, text = handout(name)
    parts, manual = assignment.parts[:1], assignment.manual[-1:]
    wanted = [each.name for each in (*parts, *manual)]
    found = of_parts(text, assignment, wanted)
    some = Assignment(**{**vars(assignment), "parts": parts, "manual": manual})
    (table,) = (each for each in _tables(found, some) if {"part", "points"} <= set(each.header))
    assert list(_wrong_parts(table, some)) == []
    for other in (*assignment.parts[1:], *assignment.manual[:-1]):
        assert f"| {other.name} |" not in found and f"**{other.name}**" not in found
    assert f"1. **{manual[0].name}**" in found
    lines = iter(text.splitlines())
    changed = ("**", "questions below", "figures below")
    kept = [line for line in found.splitlines() if not any(each in line for each in changed)]
    assert all(line in lines for line in kept)


def test_without_questions_their_section_goes():
    assignment, text = handout("mpi_sgd")
    found = of_parts(text, assignment, ["naive_allreduce"])
    assert "## The questions" not in found and "report.pdf` | answers" not in found
    assert "### 2. naive_allreduce" in found and "### 1. sync_collective" not in found


def test_a_title_with_the_name_of_a_part_stays():
    """`grade new` makes a part `sum` below the title `A sum over ranks`."""
    assignment, text = handout("psgd_hogwild")
    wanted = assignment.manual[0].name
    text = text.replace("\n", f" by {assignment.parts[0].name}\n", 1)
    assert of_parts(text, assignment, [wanted]).startswith(text.partition("\n")[0])


def test_the_next_command_names_each_part(tmp_path, capsys):
    folder, parts = tmp_path / "some", ["psgd", "hogwild"]
    given = {"assignment": "psgd_hogwild", "output": folder, "part": parts, "course_before": []}
    assert write_template(Namespace(**given)) == 0
    assert f"`grade check {folder} --part psgd --part hogwild`" in capsys.readouterr().out


def test_a_template_is_written_for_some_parts(tmp_path):
    assignment = bundled().load("psgd_hogwild")
    template.write(assignment, tmp_path / "some", ["psgd"])
    template.write(assignment, tmp_path / "all")
    some, everything = (
        {file.name: file.read_bytes() for file in (tmp_path / name).iterdir() if file.is_file()}
        for name in ("some", "all")
    )
    assert {name for name in everything if some[name] != everything[name]} == {"HANDOUT.md"}
    with pytest.raises(UsageError, match=r"has no part 'hogwhile'; .* Did you mean hogwild"):
        template.write(assignment, tmp_path / "other", ["hogwhile"])

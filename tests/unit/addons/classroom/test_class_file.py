"""What `class.toml` says, and what is told of mistakes in it."""

from datetime import UTC, datetime, timedelta

import pytest

from grader.addons.classroom.class_inputs import ClassFile, class_file_mistakes
from grader.addons.classroom.tables import read_settings
from grader.model.errors import UsageError


def read(tmp_path, text):
    file = tmp_path / "class.toml"
    file.write_text(text)
    return read_settings(file, ClassFile, class_file_mistakes)


def test_all_of_it(tmp_path):
    found = read(
        tmp_path,
        'assignment = "sums"\ndeadline = 2026-11-20T23:59:00\ntimezone = "Europe/Zurich"\n'
        'counts = "best"\n[late]\nper_day = 0.1\ngrace_min = 15\nlast_day = 2\n'
        "[extensions]\nanna = 2026-11-22T12:00:00Z\n",
    ).policy
    assert found.deadline == datetime(2026, 11, 20, 22, 59, tzinfo=UTC)
    assert (found.grace, found.late_per_day, found.last_day) == (timedelta(minutes=15), 0.1, 2)
    assert found.extensions == {"anna": datetime(2026, 11, 22, 12, tzinfo=UTC)}
    assert found.takes_best


def test_an_empty_file_has_no_rules(tmp_path):
    found = read(tmp_path, "").policy
    assert (found.deadline, found.late_per_day, found.takes_best) == (None, 0, False)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("dealine = 2026-11-20T23:59:00", "dealine: unknown key; did you mean deadline"),
        ("deadline = 'soon'", 'deadline: found "soon"; expected a date and time'),
        ("[late]\nper_day = 0.1", "late: only a deadline uses it"),
        ("deadline = 2026-11-20T23:59:00\n[late]\nper_day = 10", "late.per_day: found 10"),
        ("timezone = 'Mars/North'", "timezone: found 'Mars/North'; expected a name such as"),
        (
            "deadline = 2026-11-20T23:59:00\n[extensions]\nanna = 2026-11-02T23:59:00",
            "extensions.anna: found 2026-11-02 23:59:00, which is before the deadline",
        ),
        ("platform = 'mooodle'", 'platform: found "mooodle"; expected one of moodle, canvas, bl'),
        ("platform = 'github'", "platform_assignment: missing. Names on github begin with"),
        ("platform_assignment = 'hw3'", "platform_assignment: only platform = "),
        ("counts = 'first'", 'counts: found "first"; expected last or best'),
    ],
)
def test_a_mistake_is_named(tmp_path, text, problem):
    with pytest.raises(UsageError, match=problem):
        read(tmp_path, text)

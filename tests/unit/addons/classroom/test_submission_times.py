"""When hand-ins were submitted: a table of ours, and the worksheet that Moodle exports."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from grader.addons.classroom import submission_times
from grader.model.errors import UsageError

WORKSHEET = """\
\ufeffIdentifier,"Full name","Email address",Status,Grade,"Last modified (submission)"
"Participant 4711","J\u00f6rg M\u00fcller",j@example.org,"Submitted for grading",,"{}"
"Participant 4712","Ann Lee",a@example.org,"No submission",,-
"""


def test_a_hand_in_has_one_time(tmp_path):
    file = tmp_path / "times.csv"
    file.write_text("hand_in,submitted_at\na,2026-11-20T11:00\na,2026-11-20T12:00\n")
    with pytest.raises(UsageError, match="line 3: a appears twice"):
        submission_times.read(file, UTC)


def test_times_have_a_zone_or_get_one(tmp_path):
    file = tmp_path / "times.csv"
    file.write_text("hand_in,submitted_at\na,2026-11-20T10:00:00+01:00\nb,2026-11-20 10:00\n")
    assert submission_times.read(file, UTC) == {
        "a": datetime(2026, 11, 20, 9, tzinfo=UTC),
        "b": datetime(2026, 11, 20, 10, tzinfo=UTC),
    }
    for text in ("yesterday", "2026-11-20"):  # of a day, its beginning or its end?
        file.write_text(f"hand_in,submitted_at\na,{text}\n")
        with pytest.raises(UsageError, match=f"line 2: found '{text}'; expected a time"):
            submission_times.read(file, UTC)


@pytest.mark.parametrize(
    "text",
    [
        "Friday, 20 November 2026, 11:58 PM",
        "Friday, November 20, 2026, 11:58 pm",
        "Friday, 20 November 2026, 23:58",
    ],
)
def test_the_worksheet_of_moodle_has_times(tmp_path, text):
    """On the clock of the course; of who has submitted nothing it has none."""
    file = tmp_path / "Grades.csv"
    file.write_text(WORKSHEET.format(text), encoding="utf-8")
    zone = ZoneInfo("Europe/Zurich")
    assert submission_times.read(file, zone) == {
        "J\u00f6rg M\u00fcller_4711_assignsubmission_file_": datetime(
            2026, 11, 20, 23, 58, tzinfo=zone
        )
    }


def test_a_worksheet_in_another_language_is_one_sentence(tmp_path):
    file = tmp_path / "Grades.csv"
    file.write_text(WORKSHEET.format("Freitag, 20. November 2026, 23:58"), encoding="utf-8")
    with pytest.raises(UsageError, match=r"line 2: found 'Freitag, .* as Moodle writes it in Eng"):
        submission_times.read(file, UTC)
    of_nobody = WORKSHEET.replace("Participant 4711", "")
    file.write_text(of_nobody.format("Friday, 20 November 2026, 23:58"), encoding="utf-8")
    with pytest.raises(UsageError, match="line 2: found the identifier ''; expected one as Moodle"):
        submission_times.read(file, UTC)
    file.write_text("ID,Zuletzt ge\u00e4ndert (Abgabe)\n1,-\n", encoding="utf-8")
    with pytest.raises(UsageError, match="has no column hand_in; expected a header with"):
        submission_times.read(file, UTC)

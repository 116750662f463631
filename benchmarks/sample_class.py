"""A class of 60 hand-ins of `mpi_sgd`, as platforms deliver them: labelled, hostile, broken, ..."""

import io
import shutil
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.addons.classroom.tables import csv_text

ROOT = Path(__file__).resolve().parents[1]
ASSIGNMENT = "mpi_sgd"
NUM_LABELLED = 50
HOSTILE = (
    "forkbomb_in_rank",
    "ignore_sigterm_hang",
    "judge_flooded_with_frames",
    "kill_everything",
    "ring_whose_pieces_are_known",
)
OUR_LABELS = ("expected.toml", "attack.toml")
"""Files of our own folders that nobody hands in."""
NUM_TWICE = 3
"""How many hand in again: the first students have one hand-in more, of the day before."""
NUM_LATE = 5
NUM_PAIRS = 3
"""How many hand in for somebody else too."""
PER_DAY = 0.1
CLASS_TOML = f"""\
assignment = "{ASSIGNMENT}"
deadline = 2026-11-20T12:00:00
roster = "roster.csv"
times = "times.csv"
platform = "moodle"
counts = "last"
[late]
per_day = {PER_DAY}
"""
EARLIER = "2026-11-19T11:00"
IN_TIME = "2026-11-20T11:00"
LATE = "2026-11-21T11:00"


@dataclass(frozen=True)
class Sample:
    """One hand-in of the class."""

    label: str
    """What it is called in the folder."""
    student: str
    partner: str
    """Who is in the same group; empty for nobody."""
    is_late: bool
    """By one day."""
    counts: bool
    """Whether it is the last of its student's."""
    can_be_read: bool


def make(folder: Path) -> list[Sample]:
    """Fill a folder with the class, and return what is in it."""
    folder.mkdir()
    sources = _labelled(NUM_LABELLED - NUM_TWICE) + _hostile()
    samples = [_hand_in(folder, number, source) for number, source in enumerate(sources)]
    good = _zipped(sources[0])
    damages = (b"", b"no archive at all", good[: len(good) // 2], good[:-30], b"\x1f\x8b" + good)
    for number, content in enumerate(damages, len(samples)):
        label = f"student{number:02}.zip"
        (folder / label).write_bytes(content)
        samples.append(Sample(label, _id(number), "", False, True, False))
    for number in range(NUM_TWICE):
        by_id = number % 3 == 0  # which _hand_in calls as Moodle does
        label = f"{_id(number)}.zip" if by_id else f"Stu Dent_{number}_assignsubmission_file_hw.zip"
        (folder / label).write_bytes(_zipped(sources[-1 - number]))
        samples.append(Sample(label, _id(number), "", False, False, True))
    (folder / "class.toml").write_text(CLASS_TOML)
    (folder / "roster.csv").write_text(_roster(samples))
    times = [
        (each.label, LATE if each.is_late else IN_TIME if each.counts else EARLIER)
        for each in samples
        if each.counts or each.can_be_read
    ]
    (folder / "times.csv").write_text(csv_text([("hand_in", "submitted_at"), *times]))
    return samples


def _labelled(number: int) -> list[Path]:
    """Return so many labelled submissions, each verdict about as frequent as among all of them."""
    found = sorted((ROOT / "tests" / "submissions").glob(f"*/{ASSIGNMENT}/*/"))
    return [found[index * len(found) // number] for index in range(number)]


def _hostile() -> list[Path]:
    return [ROOT / "tests" / "hostile" / name for name in HOSTILE]


def _hand_in(folder: Path, number: int, source: Path) -> Sample:
    """Put it where a platform would: a folder of Moodle, a zip, a folder of any other, in turn."""
    label = (f"Stu Dent_{number}_assignsubmission_file_", f"{_id(number)}.zip", _id(number))[
        number % 3
    ]
    if number % 3 == 1:
        (folder / label).write_bytes(_zipped(source))
    else:
        shutil.copytree(source, folder / label, ignore=shutil.ignore_patterns(*OUR_LABELS))
    is_late = NUM_TWICE <= number < NUM_TWICE + NUM_LATE
    first_pair = NUM_TWICE + NUM_LATE
    has_partner = first_pair <= number < first_pair + NUM_PAIRS
    partner = f"partner{number:02}" if has_partner else ""
    return Sample(label, _id(number), partner, is_late, True, True)


def _id(number: int) -> str:
    return f"student{number:02}"


def _roster(samples: Sequence[Sample]) -> str:
    rows = []
    for number, each in enumerate(each for each in samples if each.counts):
        group = f"pair{number}" if each.partner else ""
        rows.append((each.student, group, str(number), f"s{number:02}"))
        if each.partner:
            rows.append((each.partner, group, "", ""))
    return csv_text([("id", "group", "moodle", "blackboard"), *rows])


def _zipped(source: Path) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(source.rglob("*")):
            if file.name not in OUR_LABELS:
                archive.write(file, file.relative_to(source))
    return content.getvalue()

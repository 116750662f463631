"""What is kept of a grading names nobody who has handed in the files."""

from pathlib import Path

import pytest
from class_samples import outcome

from grader.addons.classroom import batch, class_folder
from grader.addons.classroom.arrivals import digest_of
from grader.addons.classroom.batch import Task, nameless
from grader.addons.classroom.gradings import Gradings
from grader.addons.classroom.tables import read_settings
from grader.course.secret import read_key
from grader.intake.archives import names
from grader.model.errors import UsageError
from grader.report.safe_text import one_line


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("kind = 'slum'", 'kind: found "slum"; expected one of: local, slurm'),
        ("kind = 'slurm'\nprovide = 1", "provide: unknown key; .* Did you mean provider"),
        ("kind = 'slurm'\nprovider = 1", "provider: found 1; expected a table"),
        ("kind = ", "is not valid TOML"),
        ("", "kind: missing; expected one of: local"),
    ],
)
def test_a_cluster_that_is_described_wrongly_is_one_sentence(tmp_path, text, problem):
    file = Path(tmp_path / "cluster.toml")
    file.write_text(text)
    with pytest.raises(UsageError, match=problem):
        read_settings(file, batch.Cluster, lambda _: ())


SHORT = "/home/prof/class/Ann Lee_1_assignsubmission_file_"
TASK = {"key": "key", "arguments": ("run",), "cores": 1, "memory_num_bytes": 0}
LONG = f"/home/prof/{'deep/' * 100}Ann Lee_1_assignsubmission_file_"


@pytest.mark.parametrize("path", [SHORT, LONG, f"{SHORT}\x1b", f"{SHORT}\udce9", f"{SHORT}  ."])
@pytest.mark.parametrize("shown", [str, names.shortened, one_line])
def test_nothing_says_whose_files_they_are(path, shown):
    """Who has handed in the same is graded once with them, and is told the same."""
    said = nameless(f"grade: {shown(path)} holds no file", path)
    assert said == "grade: the hand-in holds no file"


def test_what_lies_in_a_hand_in_is_still_named():
    assert (
        nameless(f"{SHORT}/ring.py cannot be read", SHORT) == "the hand-in/ring.py cannot be read"
    )


@pytest.mark.parametrize("changes", [False, True])
def test_what_is_changed_while_it_is_graded_is_not_kept(tmp_path, monkeypatch, changes):
    """The mark of other files would be given to whoever hands in those of before."""
    made = tmp_path / "in"
    made.mkdir()
    (made / "ring.py").write_text("x = 1")

    def run(_, report, *others):
        (made / "ring.py").write_text("x = 2" if changes else "x = 1")
        report.write_text("{}")
        return outcome()

    monkeypatch.setattr(batch, "_run", run)
    out, digest = str(tmp_path / "out"), digest_of(made)
    each = Task(digest=digest, path=str(made), gradings=out, **TASK)
    ended = batch.grade(each)
    assert ended.is_final is not changes
    assert Gradings(tmp_path / "out").has("key") is not changes
    assert ("the hand-in has changed since the command began" in ended.error) is changes


@pytest.mark.parametrize("name", ["", ".DS_Store", "folder/.gitkeep"])
def test_an_empty_hand_in_starts_nothing(tmp_path, monkeypatch, name):
    """Neither a container nor ranks, and it is settled once: other files are another hand-in."""
    monkeypatch.setattr(batch, "_run", None)
    made = tmp_path / "in"
    made.mkdir()
    if name:
        (made / name).parent.mkdir(exist_ok=True)
        (made / name).write_text("")
    each = Task(digest=digest_of(made), path=str(made), gradings=str(tmp_path / "out"), **TASK)
    ended = batch.grade(each)
    assert ended.is_final and ended.is_empty and ended.error.startswith("the hand-in is empty")
    gradings = Gradings(tmp_path / "out")
    assert gradings.load("key").outcome == ended
    assert gradings.is_refused("key") and not gradings.may_change("key")


def test_recordings_of_a_class_are_signed_with_a_key_of_its_own(tmp_path, monkeypatch):
    """Which is drawn once; the course's own counts before it, and an unsealed grading has none."""
    monkeypatch.delenv("GRADER_RECORDING_KEY_FILE", raising=False)
    file = class_folder.recording_key_in(tmp_path)
    key = read_key(file)
    assert class_folder.recording_key_in(tmp_path) == file and read_key(file) == key
    for key_file in (str(file), ""):
        each = Task(digest="digest", path="in", gradings="out", key_file=key_file, **TASK)
        found = batch._environment(each)
        assert found.get("GRADER_RECORDING_KEY_FILE", "") == key_file
    monkeypatch.setenv("GRADER_RECORDING_KEY_FILE", "/course/key")
    assert class_folder.recording_key_in(tmp_path) == Path("/course/key")
    assert "GRADER_RECORDING_KEY_FILE" not in batch._environment(each)

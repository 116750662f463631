"""What inputs follow from: the course's secret, one drawn for a grading, or public."""

import pytest

from grader.addons.classroom import class_folder
from grader.course.secret import (
    PUBLIC,
    Secret,
    named_secret,
    require_kept,
    sealed_secret,
    secret_beside_ranks,
)
from grader.model.errors import GraderError, UsageError


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """Name no secret."""
    for name in ("GRADER_SECRET_FILE", "GRADER_PUBLIC_INPUTS", "GRADER_RECORDING_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644])
def test_a_secret_that_other_users_may_read_is_refused(tmp_path, environment, mode):
    """In the container a rank is such a user."""
    file = tmp_path / "secret"
    file.write_text("for the course only")
    environment.setenv("GRADER_SECRET_FILE", str(file))
    file.chmod(mode)
    with pytest.raises(GraderError, match=f"has mode {mode:o}, so a submission could read it"):
        secret_beside_ranks(is_sealed=True)
    file.chmod(0o600)
    assert secret_beside_ranks(is_sealed=True) == Secret(b"for the course only")


def test_a_sealed_grading_draws_a_secret_and_keeps_its_seed():
    """Two gradings have different ones; a regrade takes the first one's."""
    first, second = sealed_secret(), sealed_secret()
    assert first.data != second.data
    assert len(first.data) == 32
    assert sealed_secret(first.seed) == first == named_secret(first.seed)
    assert named_secret() == PUBLIC


def test_a_local_check_has_inputs_that_everybody_may_repeat():
    """It takes neither a secret nor a seed, which the submission could read."""
    assert secret_beside_ranks(is_sealed=False) == PUBLIC
    with pytest.raises(UsageError, match="omit --seed-of"):
        secret_beside_ranks(is_sealed=False, seed="00")


def test_the_image_for_students_has_the_inputs_of_a_local_check(environment):
    """What they see twice is the same twice."""
    environment.setenv("GRADER_PUBLIC_INPUTS", "1")
    assert sealed_secret() == PUBLIC


def test_a_secret_and_a_seed_are_one_too_many(tmp_path, environment):
    """It would not be clear which is meant."""
    file = tmp_path / "secret"
    file.write_text("x")
    environment.setenv("GRADER_SECRET_FILE", str(file))
    with pytest.raises(UsageError, match="use only one"):
        sealed_secret("00")


def test_a_recording_needs_somebody_who_keeps_its_seed():
    """A named secret is the course's to keep."""
    require_kept("", is_kept=False)
    require_kept("00", is_kept=True)
    with pytest.raises(UsageError, match="keep the seed with `grade run --full-json FILE`"):
        require_kept("00", is_kept=False)


def test_a_class_keeps_one_secret_that_nobody_else_reads(tmp_path, environment):
    """The next grading of the class has it, too."""
    file = class_folder.secret_in(tmp_path)
    drawn = file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    assert class_folder.secret_in(tmp_path).read_text() == drawn
    assert class_folder.known_secret_in(tmp_path) == file


def test_a_class_is_graded_with_one_secret_only(tmp_path, environment):
    """That of the course, where it names one at first; another one later is refused."""
    named, other = tmp_path / "named", tmp_path / "other"
    named.write_text("of the course\n")
    other.write_text("another\n")
    environment.setenv("GRADER_SECRET_FILE", str(named))
    assert class_folder.secret_in(tmp_path).read_text() == "of the course"
    environment.delenv("GRADER_SECRET_FILE")
    assert class_folder.secret_in(tmp_path).read_text() == "of the course"
    environment.setenv("GRADER_SECRET_FILE", str(other))
    with pytest.raises(UsageError, match="unset it, or grade into another folder"):
        class_folder.secret_in(tmp_path)

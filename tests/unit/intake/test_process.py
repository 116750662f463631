"""The process that reads: what it may do, how it may end, and what is made of that."""

import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.intake import answer, process, submission_codec
from grader.intake import submission as submissions
from grader.intake.answer import OUT_OF_MEMORY, READY, message_in
from grader.intake.submission_codec import SubmissionMessage
from grader.model.errors import GraderError, UsageError
from grader.observe.run_control.users import run_uids

from .test_manual import pdf

WANTED = ["ring.py", "part1/main.py"]
IS_ROOT = os.geteuid() == 0
AS_ROOT = pytest.mark.skipif(not IS_ROOT, reason="only root can become somebody else")


@pytest.fixture
def place() -> Iterator[Path]:
    """Yield a folder that every user can get to; pytest closes its own when another one starts."""
    with tempfile.TemporaryDirectory(prefix="grader-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def folder(place: Path) -> Path:
    root = place / "handed-in"
    (root / "part1").mkdir(parents=True)
    (root / "ring.py").write_bytes(b"x = 1\n")
    (root / "part1" / "main.py").write_bytes(b"y = 2\n")
    return root


@pytest.fixture
def reader() -> int:
    """Return a user that no test of another checkout becomes."""
    return next(run_uids())


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Put another program in the place of the one that reads."""

    def put(source: str) -> None:
        path = tmp_path / "program.py"
        path.write_text(f"import os, sys, time\nREADY = {READY!r}\n{source}")
        monkeypatch.setattr(process, "_PROGRAM", path)

    return put


def test_reading_apart_finds_what_reading_here_finds(folder):
    """To the byte, the digest and the note."""
    (folder / "link.py").symlink_to("ring.py")
    assert process.read(folder, WANTED) == submissions.read(folder, WANTED)


def test_a_refusal_arrives_as_it_was_said(tmp_path):
    """The sentences are those of grader.intake.submission."""
    with pytest.raises(UsageError, match="is empty; expected the files that the handout names"):
        process.read(tmp_path, WANTED)
    with pytest.raises(UsageError, match="does not exist; name the folder"):
        process.read(tmp_path / "nothing", WANTED)


@AS_ROOT
def test_it_is_the_owner_of_what_it_reads(folder, reader):
    """A folder only its owner may read is read; one of somebody else's in it is not."""
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, reader + 1, reader + 1)
        path.chmod(0o700 if path.is_dir() else 0o600)
    assert set(process.read(folder, WANTED, uid=reader).files) == {"ring.py", "part1/main.py"}
    os.chown(folder / "ring.py", reader + 2, reader + 2)
    with pytest.raises(UsageError, match=r"ring\.py cannot be read; check .*chmod.*`grade run`"):
        process.read(folder, WANTED, uid=reader)


@AS_ROOT
def test_it_is_nobody_where_root_owns_what_it_reads(folder, reader):
    """What everybody may read is read; the rest is one sentence with the way out."""
    assert set(process.read(folder, WANTED, uid=reader).files) == {"ring.py", "part1/main.py"}
    folder.chmod(0o700)
    with pytest.raises(UsageError, match="handed-in cannot be read; check its permissions"):
        process.read(folder, WANTED, uid=reader)


@AS_ROOT
def test_a_folder_in_a_closed_one_is_one_sentence(folder, reader):
    """It cannot even be looked at."""
    os.chown(folder / "part1", reader + 1, reader + 1)
    folder.chmod(0o700)
    with pytest.raises(UsageError, match=r"part1 cannot be read; check .* the folders above it"):
        process.read(folder / "part1", WANTED, uid=reader)


def test_who_may_not_become_another_user_is_told_what_it_takes(program):
    """A container without the capabilities, say."""
    program(f"os._exit({answer.NOT_CONFINED})")
    with pytest.raises(GraderError, match="--cap-add SETUID --cap-add SETGID") as error:
        process.count_pages(b"", "it")
    assert error.value.exit_code == GraderError.exit_code


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_process_has_its_pipes_and_nothing_else_of_ours(program):
    program(
        "print(sorted(os.environ), flush=True)\n"
        "print(sorted({*os.listdir('/proc/self/fd')} - {'0', '1', '2'}), flush=True)"
    )
    held = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(held, True)
    try:
        with process._started([sys.executable, "-I", "-S", "-B", str(process._PROGRAM)]) as found:
            said, exit_code = process._answer(found, b"")
    finally:
        os.close(held)
    environment, descriptors = said.decode().splitlines()
    assert exit_code == 0 and environment == "['LC_ALL']"
    assert str(held) not in descriptors and len(descriptors) == len("['3']")  # its own listing


@AS_ROOT
def test_a_folder_that_only_root_may_read_stays_closed(folder, reader):
    """The process is the owner of what is handed in, and no member of a group of ours."""
    (folder / "secret.py").write_bytes(b"1")
    (folder / "secret.py").chmod(0o640)
    for each in (folder, folder / "part1"):
        os.chown(each, reader, reader)
    ours = os.getgroups()
    os.setgroups([*ours, (folder / "secret.py").stat().st_gid])
    try:
        with pytest.raises(UsageError, match=r"secret\.py cannot be read; check its permissions"):
            process.read(folder, WANTED, uid=reader)
    finally:
        os.setgroups(ours)


@pytest.mark.parametrize(
    ("exit_code", "reason"),
    [
        (OUT_OF_MEMORY, "reading it took more than 1024 MiB of memory"),
        (-signal.SIGKILL, "reading it took more than 1024 MiB of memory"),
        (None, "reading it took more than 120 s"),
        (-signal.SIGSEGV, r"the submission reader crashed \(SIGSEGV\)"),
        (-40, r"the submission reader crashed \(signal 40\)"),
        (1, "ended with exit code 1"),
    ],
)
def test_how_it_ends_is_one_sentence(exit_code, reason):
    """A submission that ends its reader is refused; the grader has not failed."""
    with pytest.raises(UsageError, match=f"it cannot be read because .*{reason}; hand in") as error:
        message_in("it", READY, exit_code)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("said", [b"", b"\0", b"f" * 100, bytes(8)])
def test_a_broken_answer_is_one_sentence(said):
    """From a reader that somebody may have taken over."""
    with pytest.raises(UsageError, match="it cannot be read because the submission reader sent"):
        message_in("it", READY + said, 0)


def test_a_reader_that_never_began_is_our_failure():
    """As is one that says so."""
    with pytest.raises(GraderError, match="did not start") as error:
        message_in("it", b"", 1)
    assert error.value.exit_code == GraderError.exit_code
    failed = b"".join(submission_codec.pack(SubmissionMessage(failure="KeyError: 'x'")))
    with pytest.raises(
        GraderError, match=r"KeyError: 'x'. The grader failed; tell your instructor"
    ) as error:
        message_in("it", READY + failed, 0)
    assert error.value.exit_code == GraderError.exit_code


def test_the_digest_is_not_believed():
    """It is computed from what has arrived."""
    answered = b"".join(submission_codec.pack(SubmissionMessage({"b.py": b"2", "a.py": b"1"})))
    found = submission_codec.submission_of("it", message_in("it", READY + answered, 0))
    assert found == submissions.of_files("it", {"a.py": b"1", "b.py": b"2"})
    assert list(found.files) == ["a.py", "b.py"]


def test_a_reader_that_answers_without_end_is_stopped(program, monkeypatch):
    """Before it fills our memory."""
    monkeypatch.setattr(process, "MAX_NUM_BYTES", 1 << 20)
    program("os.write(1, READY)\nwhile True:\n    os.write(1, bytes(1 << 16))")
    with pytest.raises(UsageError, match="the submission reader sent a broken answer: "):
        process.count_pages(b"", "it")


def test_a_reader_that_hangs_is_killed(program, monkeypatch, tmp_path):
    """And is not there afterwards."""
    monkeypatch.setattr(process, "DEADLINE_S", 2.0)
    program(
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        "os.write(1, READY)\ntime.sleep(1000)"
    )
    with pytest.raises(UsageError, match="cannot be read because reading it took more than"):
        process.count_pages(b"", "it")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_reader_that_does_not_listen_is_no_harm(program):
    """It may end before it has read what we send."""
    program("os.write(1, READY)\nos._exit(5)")
    with pytest.raises(UsageError, match="ended with exit code 5"):
        process.count_pages(bytes(8 << 20), "it")


def test_no_program_to_start_is_our_failure(monkeypatch, folder):
    """One sentence says so."""
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(GraderError, match="cannot start") as error:
        process.read(folder, WANTED)
    assert error.value.exit_code == GraderError.exit_code


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit memory")
def test_what_needs_too_much_memory_is_one_sentence(tmp_path):
    """A tar whose name fills the memory, say."""
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 900 << 20
    file = tmp_path / "it.tar"
    file.write_bytes(info.tobuf(tarfile.GNU_FORMAT))
    os.truncate(file, 950 << 20)
    with pytest.raises(UsageError, match="took more than 1024 MiB of memory; hand in the scripts"):
        process.read(file, WANTED)


def test_of_a_bomb_is_read_what_is_within_the_limits(tmp_path):
    """Each file of it within the limits, all of them not."""
    file = tmp_path / "bomb.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(6):
            archive.writestr(f"{number}.py", b" " * (30 << 20))
    assert file.stat().st_size < 1 << 20
    found = process.read(file, WANTED)
    assert set(found.files) == {"0.py", "1.py", "2.py", "3.py"}
    assert all("128 MiB" in found.not_read[name] for name in ("4.py", "5.py"))


def test_the_reader_is_a_program_of_the_standard_library_alone(folder):
    """So that no package of the environment runs in it, and it starts in no time."""
    listing = "import sys; sys.argv[1:] = ['-', 'path', sys.argv[1]]; import runpy\n"
    listing += f"runpy.run_path({str(process._PROGRAM)!r})\n"
    listing += "print([n for n in sys.modules if n.split('.')[0] in ('numpy', 'docker', 'mpi4py')])"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", listing, str(folder)], capture_output=True
    )
    assert done.stdout.startswith(READY)
    assert done.stdout.rstrip().endswith(b"[]")


def test_the_limits_fit_together():
    """A whole message fits into what is read of an answer."""
    assert answer.MAX_NUM_BYTES > submission_codec.MAX_NUM_BYTES > submissions.MAX_TOTAL_NUM_BYTES


def test_the_pages_of_a_pdf_are_counted():
    """By the same process."""
    assert process.count_pages(pdf(3), "report.pdf") == 3


@pytest.mark.parametrize("content", [b"", b"%PDF-1.7", b"[" * 10_000, pdf(2)[:-60]])
def test_what_is_no_pdf_is_one_sentence(content):
    """Or one that its reader mends, as it does where only the end is missing."""
    try:
        assert process.count_pages(content, "report.pdf") in (0, 2)
    except UsageError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize("note", ["", "x", "-1", "\u0664", "9" * 5000])
def test_a_count_is_not_believed(program, note):
    """What is no number of plain digits is none."""
    answered = READY + b"".join(submission_codec.pack(SubmissionMessage(notes=(note,))))
    program(f"sys.stdout.buffer.write({answered!r})")
    try:
        assert process.count_pages(b"", "report.pdf") < 10**9
        assert note.startswith("9")
    except UsageError:
        assert not note.startswith("9")

"""The selftest in real containers: it holds where everything is there, and bites where it is not.

Needs the images that `make image` builds. Without a Docker daemon these tests are skipped, but not
where CI=true: there a skipped container test is a failure.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from this_checkout import GRADE, IMAGE, ROOT, TAG, docker_run, grade

from grader.sealed.container.kernel_refusals import VARIABLE, known_boot, remember

pytestmark = pytest.mark.usefixtures("engine")
TEMPLATE = ROOT / "student_template" / "mpi_sgd"
LIMIT_S = 900
CAPABILITIES = "--cap-drop ALL --cap-add SETUID --cap-add SETGID --cap-add KILL"
FLAGS = {
    "--tmpfs /tmp:rw,noexec,nosuid,nodev",
    CAPABILITIES,
    "--security-opt no-new-privileges",
    "--read-only",
    "--memory 4g --memory-swap 4g",
    "--pids-limit 512",
    "--sysctl net.ipv4.tcp_max_tw_buckets=0",
}
"""What plain `docker run --network none` leaves out."""


def selftest(*flags: str) -> tuple[int, dict[str, dict[str, object]]]:
    """Return the exit code, and what is missing by its name."""
    done = docker_run(TEMPLATE, "selftest", "--json", "-", flags=flags)
    assert done.stdout, done.stderr
    every = json.loads(done.stdout)["protections"]
    assert len(every) >= 25
    return done.returncode, {each["name"]: each for each in every if not each["holds"]}


def test_everything_holds_in_a_container_of_grade_run():
    """The very flags that submissions are graded under."""
    done = grade("selftest")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "MISSING" not in done.stdout
    assert done.stdout.count("holds    ") >= 25
    assert done.stdout.endswith("All checks passed. You can grade.\n")


def test_a_container_knows_its_own_boot():
    """Under which it need not try again what the kernel has refused."""

    def in_container(function: str, told: str = "") -> str:
        module = "grader.sealed.container.kernel_refusals"
        code = f"from {module} import {function}; print({function}())"
        flags = ("-e", f"{VARIABLE}={told}", "--entrypoint", "python")
        done = docker_run(TEMPLATE, "-c", code, flags=flags)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert in_container("has_passed_here") == "False"
    assert in_container("has_passed_here", in_container("boot_id")) == "True"


def test_grade_run_tries_the_kernel_only_while_it_must(engine, tmp_path):
    """An image in which one attempt succeeds grades only if it is said to have passed before."""
    attempts = (ROOT / "grader" / "sealed" / "selftest" / "hostile_attempts.py").read_text()
    line = '    yield "mount", '
    assert attempts.count(line) == 1
    (tmp_path / "hostile_attempts.py").write_text(
        attempts.replace(line, f'    yield "nothing", int\n{line}')
    )
    (tmp_path / "none.pyc").touch()  # so that the source is read
    folder = "/opt/grader/grader/sealed/selftest"
    (tmp_path / "Dockerfile").write_text(
        f"FROM {IMAGE}\nCOPY hostile_attempts.py {folder}/\n"
        f"COPY none.pyc {folder}/__pycache__/hostile_attempts.cpython-311.pyc\n"
    )
    image, _ = engine.images.build(path=str(tmp_path), tag=f"grade-open:{TAG}", rm=True)

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*GRADE, "run", str(TEMPLATE), "--image", f"grade-open:{TAG}", "--json", "-"],
            capture_output=True,
            text=True,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
            timeout=LIMIT_S,
        )

    try:
        refused = run()
        assert (refused.returncode, refused.stdout) == (3, "")
        assert "not refused: nothing" in refused.stderr
        assert known_boot(tmp_path / "cache" / "grader" / "selftest", image.id) == ""
        remember(tmp_path / "cache" / "grader" / "selftest", image.id)
        graded = run()
        assert graded.returncode == 1, graded.stderr
        assert json.loads(graded.stdout)["score"] == 0
    finally:
        engine.images.remove(image.id, force=True)


def test_plain_docker_run_names_exactly_what_its_flags_leave_out():
    """Only flags, each of them; and the report of a grading says the same in one note."""
    code, missing = selftest()
    assert code == 0
    assert {each["flag"] for each in missing.values()} == FLAGS
    assert not any(each["is_essential"] for each in missing.values())
    done = docker_run(TEMPLATE, "check", "/submission", "--json", "-")
    report = json.loads(done.stdout)
    assert (done.returncode, report["score"]) == (1, 0)
    (note,) = [note for note in report["notes"] if "protections" in note]
    assert all(f"{name} ({each['flag']})" in note for name, each in missing.items())
    assert "`grade run DIR`" in note


def test_plain_docker_run_with_all_flags_has_nothing_to_tell():
    """Each flag that the note names brings its protection."""
    code, missing = selftest(*" ".join(FLAGS).split())
    assert (code, missing) == (0, {})


@pytest.mark.parametrize("flags", [("--cap-add", "SYS_ADMIN"), ("--cap-add", "SYS_PTRACE")])
def test_a_container_with_too_many_rights_grades_nothing(flags):
    """Exit 3 and one sentence that says what to leave out."""
    done = docker_run(TEMPLATE, "check", "/submission", "--json", "-", flags=flags)
    assert done.returncode == 3, done.stdout
    assert done.stdout == ""
    (sentence,) = [line for line in done.stderr.splitlines() if line.startswith("grade: ")]
    assert "refusing to grade" in sentence
    assert "start it without --privileged and --cap-add" in sentence


_OPEN = "Ranks cannot access the machine's files"
_CLOSED = "The container mounts only what grading needs"


@pytest.mark.parametrize(
    ("flags", "place"),
    [
        (("-v", "{others}:/host:ro"), "-v /host"),
        (("-v", "{others}:/host"), "-v /host"),
        (("-v", "{others}:/tmp"), "-v /tmp"),
        (("-v", "{others}/file:/solution.py:ro"), "-v /solution.py"),
        (("--device", "/dev/null:/dev/mine", "--device", "{fuse}:/dev/fuse"), "--device /dev/fuse"),
    ],
)
def test_what_a_rank_can_use_of_the_machine_forbids_grading(tmp_path, flags, place):
    """Exit 3 and one sentence that names it, and says to leave it out."""
    fuse = fuse_for_all(tmp_path) if "{fuse}:/dev/fuse" in flags else ""
    (tmp_path / "file").touch()
    os.chown(tmp_path / "file", 54321, 54321) if os.getuid() == 0 else None
    tmp_path.chmod(0o755)
    flags = [each.format(others=tmp_path, fuse=fuse) for each in flags]
    done = docker_run(TEMPLATE, "check", "/submission", "--json", "-", flags=flags)
    assert (done.returncode, done.stdout) == (3, "")
    (sentence,) = [line for line in done.stderr.splitlines() if line.startswith("grade: ")]
    assert f"`{_OPEN}`" in sentence
    assert sentence.endswith(f"start the container without {place}")


def fuse_for_all(folder):
    """Return a node of /dev/fuse that everybody may open: on some machines root alone may."""
    given = Path("/dev/fuse")
    if not given.exists():
        pytest.skip("this machine has no /dev/fuse")
    if given.stat().st_mode & 0o006 == 0o006:
        return given
    if os.getuid() != 0:
        pytest.skip("only root may open this machine's /dev/fuse, or make another one")
    made = folder / "fuse"
    os.mknod(made, given.stat().st_mode, given.stat().st_rdev)
    made.chmod(0o666)
    return made


def test_what_is_closed_to_the_ranks_is_told_and_no_more(tmp_path):
    """As an engine's socket is; what the documented commands mount is not told."""
    tmp_path.chmod(0o700)
    where = ("-v", f"{tmp_path}:/closed", "--volume", "/report", "--init", "-t")
    code, missing = selftest(*where)
    assert code == 0
    assert {each["flag"] for each in missing.values()} == {*FLAGS, "no -v /closed"}
    assert missing[_CLOSED]["found"] == "/closed, closed to the ranks or empty"


@pytest.mark.parametrize("option", ["seccomp", "systempaths"])
def test_what_an_engine_was_told_to_leave_out_is_told(option):
    """Graded all the same: what the ranks may do is up to the judge."""
    code, missing = selftest("--security-opt", f"{option}=unconfined")
    assert code == 0
    flags = {each["flag"] for each in missing.values()}
    assert flags == {*FLAGS, f"no --security-opt {option}=unconfined"}


_CALLS = "System calls that no submission needs are refused"
WEAKENED = {
    # What is changed, and of which protection what is found missing.
    "ranks can be looked into": (
        "observe/forkserver/confinement.py",
        "        _set(_PR_SET_DUMPABLE, 0)\n",
        "        _set(_PR_SET_DUMPABLE, 1)\n",
        "Ranks hide their memory from others",
        "dumpable 1",
    ),
    "no system call is filtered": (
        "observe/forkserver/confinement.py",
        "        sealed.system_calls.put_on()\n",
        "",
        "Ranks have their own system call filter",
        "filters: 1;",
    ),
    "memory without a name is to be had": (
        "observe/forkserver/system_calls.py",
        '    *("memfd_create", "memfd_secret"),\n',
        "",
        _CALLS,
        "memfd_create",
    ),
    "calls by other numbers are let through": (
        "observe/forkserver/system_calls.py",
        "library.Attr.ACT_BADARCH, library.KILL_PROCESS",
        "library.Attr.ACT_BADARCH, library.ALLOW",
        _CALLS,
        "getpid as 32-bit programs call it",
    ),
    "nobody minds what memory is taken": (
        "observe/forkserver/supervisor.py",
        "for excess in limits.exceeded(run):",
        "for excess in ():",
        "A run that takes too much memory is stopped",
        "a rank kept 192 MiB",
    ),
    "ranks stay in the group of root": (
        "observe/forkserver/run_users.py",
        "        os.setgroups([] if rank is None else [own])\n",
        "        os.setgroups([0] if rank is None else [own, 0])\n",
        "Ranks run as another user, not as root",
        "user ",
    ),
    "the canary is readable": (
        "sealed/selftest/examine.py",
        "        file.touch(mode=0o600)\n",
        "        Path(folder).chmod(0o755)\n        file.touch()\n",
        "The grader's files cannot be read",
        "canary",
    ),
}


@pytest.mark.parametrize("weakening", WEAKENED)
def test_a_weakened_judge_grades_nothing(tmp_path, weakening):
    """One line of its own code changed, one protection missing, no mark."""
    file, old, new, name, found = WEAKENED[weakening]
    tree = tmp_path / "grader"
    shutil.copytree(ROOT / "grader", tree, ignore=shutil.ignore_patterns("__pycache__"))
    source = (tree / file).read_text()
    assert source.count(old) >= 1
    (tree / file).write_text(source.replace(old, new))
    mounted = ("-v", f"{tree}:/opt/grader/grader:ro")
    code, missing = selftest(*mounted)
    assert code == 3
    assert missing[name]["is_essential"]
    assert found in missing[name]["found"]
    done = docker_run(TEMPLATE, "check", "/submission", "--json", "-", flags=mounted)
    assert (done.returncode, done.stdout) == (3, "")
    assert "refusing to grade" in done.stderr

"""A plugin of pytest: `-p tests.sanitized` gives ranks an interposer that checks what it does.

What AddressSanitizer reports fails the test that is running, even where that expects a rank to die.
UndefinedBehaviorSanitizer ends the rank, with its report among what the rank has printed.
"""

import functools
import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from grader.observe.interposer import build
from grader.observe.run_control import forkserver_client

_FOLDER = Path(tempfile.mkdtemp(prefix="grader-sanitized-"))
_OPTIONS = {
    "ASAN_OPTIONS": ":".join(
        (
            f"log_path={_FOLDER}/report",
            # Open MPI and Python keep much until the end of the process, on purpose; and we keep
            # each communicator, to which records and requests point.
            "detect_leaks=0",
            # Some ranks use up their memory on purpose, and malloc has to tell them so.
            "allocator_may_return_null=1",
            # Others send themselves SIGSEGV, and the death is to look as it does without us.
            "handle_segv=0",
        )
    ),
    "UBSAN_OPTIONS": f"print_stacktrace=1:log_path={_FOLDER}/report",
}


def pytest_configure() -> None:
    """Have every interposer that the tests build checked, and preload the sanitizer before it."""
    _FOLDER.chmod(0o1777)  # ranks may be of another user
    build.build = functools.partial(build.build, sanitized=True)
    library = _FOLDER / "interposer.so"
    build.build(library)
    os.environ |= {
        **_OPTIONS,
        "GRADER_INTERPOSER": str(library),
        "GRADER_SANITIZER": str(build.sanitizer()),
    }
    forkserver_client._environment = functools.partial(_checked, forkserver_client._environment)


def pytest_unconfigure() -> None:
    """Leave nothing behind."""
    shutil.rmtree(_FOLDER)


def _checked(environment) -> dict[str, str]:
    """Return the environment of a forkserver whose ranks are checked."""
    plain = environment()
    preloaded = f"{os.environ['GRADER_SANITIZER']}:{plain['LD_PRELOAD']}"
    return {**plain, **_OPTIONS, "LD_PRELOAD": preloaded}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None]:
    """Fail the test in which something was reported."""
    try:
        yield
    finally:
        reports = sorted(_FOLDER.glob("report.*"))
        texts = [report.read_text() for report in reports]
        for report in reports:
            report.unlink()
        errors = [
            text for text in texts if "ERROR: AddressSanitizer" in text or "runtime error:" in text
        ]
        if errors:
            pytest.fail("\n".join(errors), pytrace=False)

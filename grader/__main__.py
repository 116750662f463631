"""The command `grade`, also as `python -m grader`: its own failures never exit with 1.

Python itself ends with 1 after a traceback. So all that can fail is called, and imported, where
whatever it raises becomes one sentence and exit code 3.
"""

import gc
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from grader.model.errors import INTERRUPTED, GraderError

_NO_MARK = GraderError.exit_code


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit: 0 full marks, 1 points lost, 2 bad usage, 3 no mark, 4 review."""
    try:
        code = _run(sys.argv[1:] if arguments is None else arguments)
    except BaseException as error:
        code = _say_why(error)
    for descriptor, stream in ((1, sys.stdout), (2, sys.stderr)):
        _give_up_if_broken(descriptor, stream)
    sys.exit(code)


def _run(arguments: Sequence[str]) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    _open_closed_streams()
    # Oracles multiply small matrices, beside ranks that want the cores: threads would only wait for
    # each other. The library reads this when it is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Modules are many objects that stay; looking for garbage among them took a tenth of the time.
    gc.set_threshold(10_000)
    from grader import cli  # in here, for it imports all the rest

    code = cli.run(arguments, is_watched=True)
    sys.stdout.flush()
    if type(code) is not int:
        raise TypeError(f"the command ended with {code!r} instead of an exit code")
    return code


def _say_why(error: BaseException) -> int:
    """Say what ended the command; return the exit code. Raises nothing at all."""
    code = error.exit_code if isinstance(error, GraderError) else _NO_MARK
    with suppress(BaseException):
        # Who asks once more that we end gets it, and still learns the exit code.
        for asked in (signal.SIGINT, signal.SIGTERM):
            signal.signal(asked, signal.SIG_IGN)
        if not isinstance(error, BrokenPipeError):  # nobody is there to be told
            for sentence in _sentences(error):
                print(f"grade: {sentence}", file=sys.stderr, flush=True)
    return code


def _sentences(error: BaseException) -> list[str]:
    if isinstance(error, GraderError):
        return [_line(str(each)) for each in error.args or ("",)]
    if isinstance(error, KeyboardInterrupt):
        return [f"{INTERRUPTED}; nothing was graded"]
    text = ""
    with suppress(Exception):  # the words of an exception are code as well
        text = _line(str(error))
    return [": ".join(filter(None, ("the grader failed", type(error).__name__, text)))]


def _line(text: str) -> str:
    """Return a text as one line that commands no terminal."""
    try:
        from grader.report.safe_text import one_line
    except BaseException:  # perhaps just what this is about
        return ascii(text)[1:-1]
    return one_line(text)


def _open_closed_streams() -> None:
    """Send to nowhere what is said on a stream that we were started without.

    Its descriptor as well: the next file that is opened would take its place.
    """
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            # For as long as we live.
            setattr(sys, name, open(descriptor, mode, closefd=False))  # noqa: SIM115


def _give_up_if_broken(descriptor: int, stream: object) -> None:
    """Have Python not try once more, as it ends, to write what could not be written."""
    try:
        stream.flush()  # type: ignore[attr-defined]
    except (OSError, ValueError):
        with suppress(OSError):
            os.close(descriptor)  # its number is the next one to be given out
            os.open(os.devnull, os.O_WRONLY)


if __name__ == "__main__":
    main()

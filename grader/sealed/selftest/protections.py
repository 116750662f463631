"""What has to protect a grading from the submission, and what follows when it is missing."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from grader.model.errors import GraderError
from grader.model.points import UNPROTECTED

_BY_FLAG = UNPROTECTED + "these protections; the command that starts the container can add them"
_INSTEAD = "`grade run DIR` sets all of them"


@dataclass(frozen=True)
class Protection:
    """One thing that must be impossible, or a limit that must be there."""

    name: str
    """As a sentence that is true when it holds."""
    holds: bool
    found: str
    """What was tried or seen."""
    is_essential: bool
    """The image and the judge provide it; nothing is graded without."""
    flag: str = ""
    """What brings it where it is up to how the container was started, such as `--read-only`, or
    `no --pid host`. Empty for what is not essential and up to the kernel: that is only told."""


def refusal(protections: Sequence[Protection], *, flags_are_ours: bool) -> str:
    """Return why nothing is graded here; empty when it may be."""
    missing = [each for each in protections if not each.holds]
    fatal = [each for each in missing if each.is_essential or (flags_are_ours and each.flag)]
    if not fatal:
        return ""
    first = fatal[0]
    others = len(missing) - 1
    more = f"; {others} more {'is' if others == 1 else 'are'} missing" if others else ""
    step = (
        f"start the container {_remedy(first.flag)}"
        if first.flag
        else (
            "build the image again with `make image`; if that does not help, ask this machine's "
            "administrator"
        )
    )
    return (
        f"refusing to grade: a protection is missing here, `{first.name}` ({first.found}){more}. "
        f"`grade selftest` lists all of them; {step}"
    )


def _remedy(flag: str) -> str:
    """Return with or without what a container is to be started."""
    return f"without {flag.removeprefix('no ')}" if flag.startswith("no ") else f"with {flag}"


def note(protections: Sequence[Protection], *, is_for_students: bool = False) -> str:
    """Return what a report says about protections that were missing; empty when none was."""
    missing = [each for each in protections if not each.holds]
    if not missing:
        return ""
    if is_for_students:
        are = "is" if len(missing) == 1 else "are"
        return f"feedback, not your mark: {len(missing)} of the course's protections {are} missing"
    by_flag = "; ".join(f"{each.name} ({each.flag})" for each in missing if each.flag)
    others = "; ".join(f"{each.name} ({each.found})" for each in missing if not each.flag)
    return ". ".join(
        text
        for named, text in (
            (by_flag, f"{_BY_FLAG}: {by_flag}. {_INSTEAD}"),
            (others, f"{UNPROTECTED}protections that this machine lacks: {others}"),
        )
        if named
    )


def table(protections: Sequence[Protection]) -> str:
    """Return lines for a terminal: whether each protection holds, its name, what was found."""
    lines = []
    for each in protections:
        sign = "holds  " if each.holds else "MISSING"
        lines.append(f"{sign}  {each.name}")
        verb = "leave out" if each.flag.startswith("no ") else "add"
        flag = each.flag.removeprefix("no ")
        flag = "" if each.holds or not flag else f"; {verb} {flag}"
        lines.append(f"         {each.found}{flag}")
    return "\n".join(lines)


def render(protections: Sequence[Protection]) -> str:
    """Return the protections as JSON."""
    return json.dumps({"protections": [asdict(each) for each in protections]}, indent=2)


def parse(text: str | bytes) -> tuple[Protection, ...]:
    """Return what `render` wrote. Raises GraderError when the text is anything else."""
    try:
        return tuple(Protection(**each) for each in json.loads(text)["protections"])
    except (KeyError, TypeError, ValueError) as error:
        raise GraderError(f"the selftest sent an unreadable answer: {error}") from None

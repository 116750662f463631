"""The command that tries the protections of a sealed grading: selftest."""

import argparse

from grader.commands.context import courses_of, is_sealed
from grader.grading import pipeline
from grader.grading.settings import Settings
from grader.model.errors import GraderError
from grader.sealed.selftest import protections


def selftest(options: argparse.Namespace) -> int:
    """Try it in this container, else in one that is started as for a grading."""
    is_here = is_sealed()
    if is_here:
        found = pipeline.selftest(Settings(courses=courses_of(options), sealed=True))
    else:
        from grader.sealed.container import sealed_grading

        found = protections.parse(sealed_grading.selftest_in_container(image=options.image))
    flags_are_ours = options.from_stdin or not is_here
    reason = protections.refusal(found, flags_are_ours=flags_are_ours)
    if options.json:
        print(protections.render(found))
    else:
        print(protections.table(found))
        print()
        print(reason or protections.note(found) or "All checks passed. You can grade.")
    return GraderError.exit_code if reason else 0

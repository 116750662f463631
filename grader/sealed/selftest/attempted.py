"""Turns what the attempts of the hostile submission came to into protections."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType, ModuleType
from typing import Any

from grader.model.errors import GraderError
from grader.sealed.selftest.protections import Protection

NO_FLAGS: Mapping[str, str] = MappingProxyType({})


def attempted(
    outcomes: Mapping[str, Any],
    modules: Iterable[ModuleType],
    flags: Mapping[str, str] = NO_FLAGS,
) -> Iterator[Protection]:
    """Yield one protection for each attempt, whose docstring says what has to hold.

    outcomes: what the probe told of each, by name. modules: those of the attempts. flags: of the
    container, by attempt: what only a flag stops. Raises GraderError where nothing was tried.
    """
    for module in modules:
        for name, attempt in vars(module).items():
            if name.startswith("try_"):
                flag = flags.get(name, "")
                sentence = _sentence(attempt)
                yield _protection(name, sentence, outcomes[name], flag)


def _protection(name: str, sentence: str, outcome: Mapping[str, Any], flag: str) -> Protection:
    if not outcome["num_steps"]:
        raise GraderError(f"the selftest tried nothing in {name}")
    succeeded = outcome["succeeded"]
    return Protection(
        name=sentence,
        holds=not succeeded,
        found=f"not refused: {', '.join(succeeded)}"
        if succeeded
        else f"{outcome['num_steps']} attempts, all refused",
        is_essential=not flag,
        flag=flag,
    )


def _sentence(attempt: Any) -> str:
    text = " ".join((attempt.__doc__ or "").split("\n\n")[0].split())
    return text.rstrip(".")

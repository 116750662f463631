"""The functions that an MPI library declares, read from what its headers are preprocessed to."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from grader.model.errors import GraderError

NOT_WRAPPED = {
    r"MPI_Get_(library_)?version": "mpi4py takes them for a sign that libmpi is already loaded",
    r"MPI_T_\w+": "the tools interface measures MPI and moves no message",
    r"MPI_Wtime|MPI_Wtick": "clocks",
    r"MPI_\w+_f2c": "conversions between handles",
    r"MPIX_Query_\w+": "what the library was built with",
    r"MPI_Aint_(add|diff)": "arithmetic",
}
"""Functions that stay without a wrapper, and why."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a prototype."""

    declaration: str
    name: str

    @property
    def is_scalar(self) -> bool:
        """Return whether the value itself is passed, not a pointer to it or an array."""
        return "*" not in self.declaration and "[" not in self.declaration


@dataclass(frozen=True)
class Prototype:
    """One `int MPI_Something(...)` of mpi.h, or `int MPIX_Something(...)` of its extensions."""

    name: str
    parameters: tuple[Parameter, ...]

    @property
    def short_name(self) -> str:
        """Return the name without its prefix, as the trace has it."""
        return self.name.partition("_")[2]

    def scalar(self, names: Iterable[str]) -> str | None:
        """Return the first of the names that is a parameter passed by value."""
        scalars = {parameter.name for parameter in self.parameters if parameter.is_scalar}
        return next((name for name in names if name in scalars), None)

    def scalar_of(self, kind: str) -> str | None:
        """Return the first parameter that is one `kind`, passed by value."""
        found = (p for p in self.parameters if re.fullmatch(rf"{kind} \w+", p.declaration))
        return next((parameter.name for parameter in found), None)

    def output(self, kind: str) -> str | None:
        """Return the parameter through which the function hands out one new `kind`."""
        found = (p for p in self.parameters if re.fullmatch(rf"{kind} ?\* ?\w+", p.declaration))
        return next((parameter.name for parameter in found), None)


def functions(preprocessed: str) -> list[Prototype]:
    """Return every function of mpi.h that gets a wrapper, in alphabetical order.

    Raises GraderError when one can neither be understood nor is listed in NOT_WRAPPED.
    """
    text = re.sub(r'^#.*$|"(?:[^"\\]|\\.)*"', "", preprocessed, flags=re.M)
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)|\bextern\b", "", text)
    statements = [" ".join(statement.split()) for statement in text.split(";")]
    declared: dict[str, str] = {}
    for statement in statements:
        found = re.search(r"(?<![\w*])(P?MPIX?_\w+) ?\(", statement)
        if found and not statement.startswith("typedef"):
            declared[found[1]] = statement
    names = sorted(name for name in declared if name.startswith("MPI"))
    wrapped = [name for name in names if not any(re.fullmatch(x, name) for x in NOT_WRAPPED)]
    if not wrapped:
        raise GraderError("mpi.h declares no function; is it the header of an MPI library?")
    for name in wrapped:
        if f"P{name}" not in declared:
            raise GraderError(f"mpi.h declares {name}, but no P{name} for the interposer to call")
    return [_parse(name, declared[name]) for name in wrapped]


def _parse(name: str, statement: str) -> Prototype:
    matched = re.fullmatch(rf"int {name} ?\((.*)\)", statement)
    if not matched:
        raise GraderError(
            f"the interposer has no wrapper for {name} of mpi.h: cannot read `{statement}`"
        )
    arguments = matched[1].strip()
    if arguments in ("", "void"):
        return Prototype(name, ())
    return Prototype(name, tuple(_parameter(name, piece) for piece in arguments.split(",")))


def _parameter(function: str, declaration: str) -> Parameter:
    declaration = declaration.strip()
    if declaration == "...":
        return Parameter("...", "...")
    matched = re.fullmatch(r"[\w\s*]+?\b(\w+) ?(\[\w*\] ?)*", declaration)
    if not matched:
        raise GraderError(
            f"the interposer has no wrapper for {function} of mpi.h: cannot read `{declaration}`"
        )
    return Parameter(declaration, matched[1])

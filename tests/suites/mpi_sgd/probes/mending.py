"""Calls of an all-reduce that misspells names of mpi4py, as if it had not."""

import contextlib
import difflib

from grader.rank.toolbox import replaced

from .reducing import reduce_once

_LIKENESS = 0.7
_RETURN_REQUESTS = ("Isend", "Issend", "Irecv", "isend", "issend", "irecv")


def reduce_mended(student, comm, **settings):
    """Call the student's all-reduce as `reduce_once` does; take misspelt names for what is meant.

    These are names of communicators, of requests, and of the module MPI.
    """
    from mpi4py import MPI

    # What the file imports by name stays what it is.
    student.function(settings["file"], settings["function"])

    class MendedNames(type):
        def __getattr__(cls, name):
            return getattr(cls, _nearest(name, dir(MPI.Request)))

    class MendedRequest(MPI.Request, metaclass=MendedNames):
        def __getattr__(self, name):
            return getattr(self, _nearest(name, dir(MPI.Request)))

    class MendedIntracomm(MPI.Intracomm):
        def __getattribute__(self, name):
            found = super().__getattribute__(name)
            if name not in _RETURN_REQUESTS:
                return found
            return lambda *arguments, **options: MendedRequest(found(*arguments, **options))

        def __getattr__(self, name):
            return getattr(self, _nearest(name, dir(MPI.Intracomm)))

    with contextlib.ExitStack() as stack:
        stack.enter_context(replaced(MPI, "COMM_WORLD", MendedIntracomm(MPI.COMM_WORLD)))
        stack.enter_context(replaced(MPI, "Request", MendedRequest))
        vars(MPI)["__getattr__"] = lambda name: getattr(MPI, _nearest(name, dir(MPI)))
        stack.callback(vars(MPI).pop, "__getattr__")
        return reduce_once(student, MendedIntracomm(comm), **settings)


def _nearest(name, names):
    """Return which of the names another one was meant to be. Raises AttributeError for none."""
    same = [each for each in names if _letters(each) == _letters(name)]
    near = difflib.get_close_matches(name, same or names, 1, 0 if same else _LIKENESS)
    if not near or name.startswith("_"):
        raise AttributeError(name)
    return near[0]


def _letters(name):
    return name.replace("_", "").lower()

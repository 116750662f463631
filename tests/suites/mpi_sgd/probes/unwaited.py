"""Calls of an all-reduce that hangs, as if it waited for no message."""

import contextlib

from grader.rank.toolbox import replaced

from .reducing import reduce_once


def reduce_unwaited(student, comm, **settings):
    """Call the student's all-reduce as `reduce_once` does; no receive and no request is waited for.

    An object that would have come is one element of `send`, which fits an array of any shape.
    """
    from mpi4py import MPI

    # What the file imports by name stays what it is.
    student.function(settings["file"], settings["function"])
    one = settings["send"].reshape(-1)[:1]
    # MPI may still write to the memory of what nobody waits for.
    receives = []

    class Unwaited(MPI.Request):
        def Wait(self, status=None):  # noqa: N802 - MPI's name
            return True

        def wait(self, status=None):
            return one.copy()

        @classmethod
        def Waitall(cls, requests, statuses=None):  # noqa: N802 - MPI's name
            return True

        @classmethod
        def waitall(cls, requests, statuses=None):
            return [one.copy() for _ in requests]

    class UnwaitedIntracomm(MPI.Intracomm):
        def Isend(self, *arguments, **options):  # noqa: N802 - MPI's name
            return Unwaited(super().Isend(*arguments, **options))

        def Irecv(self, *arguments, **options):  # noqa: N802 - MPI's name
            receives.append(super().Irecv(*arguments, **options))
            return Unwaited(receives[-1])

        def isend(self, *arguments, **options):
            return Unwaited(super().isend(*arguments, **options))

        def irecv(self, *arguments, **options):
            return Unwaited(super().irecv(*arguments, **options))

        def Recv(self, *arguments, **options):  # noqa: N802 - MPI's name
            options.pop("status", None)
            self.Irecv(*arguments[:3], **options)

        def recv(self, *arguments, **options):
            return one.copy()

    def take_back():
        for receive in receives:
            receive.Cancel()
        MPI.Request.Waitall(receives)

    with contextlib.ExitStack() as stack:
        stack.callback(take_back)
        stack.enter_context(replaced(MPI, "COMM_WORLD", UnwaitedIntracomm(MPI.COMM_WORLD)))
        stack.enter_context(replaced(MPI, "Request", Unwaited))
        return reduce_once(student, UnwaitedIntracomm(comm), **settings)

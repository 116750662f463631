"""A call of psgd in which each batch takes a while, so that MPI's times show where it was."""

import time

from grader.rank.toolbox import replaced

from . import training


def train_psgd(student, comm, *, batch_s, **settings):
    """Call the student's psgd as `training` does; each batch takes at least batch_s."""
    from record import Record

    add = Record.add

    def add_late(record, kind, **values):
        if kind == "batch":
            time.sleep(batch_s)
        add(record, kind, **values)

    with replaced(Record, "add", add_late):
        return training.train_psgd(student, comm, **settings)

"""What MPI, gloo and the kernel have counted, also before MPI is there."""

import mmap
from contextlib import closing

import numpy as np

from grader.observe.run_control.rank_files import RankFiles
from grader.observe.run_control.running import read_counters
from grader.trace import layout
from grader.trace.calls import Counted


def by_mpi(*, is_mpi=True, **words):
    """Return what MPI has counted of a rank whose memory holds these words."""
    with closing(RankFiles.create()) as files:
        header = np.frombuffer(mmap.mmap(files.trace.fd, 0), "<u8", len(layout.HEADER_WORDS))
        for name, value in words.items():
            header[layout.HEADER_WORDS.index(name)] = value
        found = read_counters([files], lambda: 7, phases=(1,), is_mpi=is_mpi)
    assert found.carried_num_bytes == 7
    return found.by_mpi


def test_a_program_that_has_not_started_mpi_has_sent_nothing():
    """Once it has, MPI has to count."""
    assert by_mpi() == [Counted((), ())]
    assert by_mpi(initialised=1) == [None]
    assert by_mpi(initialised=1, is_monitored=1) == [Counted((), ())]


def test_torch_has_no_counts_of_mpi():
    """But those of gloo."""
    assert by_mpi(is_mpi=False, is_monitored=1) == [None]
    with closing(RankFiles.create()) as files:
        (sent,) = read_counters([files], lambda: None, phases=(1,), is_mpi=False).by_gloo
        assert sent is not None and (sent.of_messages, sent.of_collectives) == (0, 0)
        assert read_counters([files], lambda: None, phases=(1,), is_mpi=True).by_gloo == [None]

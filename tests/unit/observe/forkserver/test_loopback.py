"""Bytes on the loopback count only where it leads to nobody else."""

import socket

from grader.observe.forkserver.loopback import carried, carried_num_bytes

TABLE = """Inter-|   Receive                          |  Transmit
 face |bytes    packets errs drop fifo frame   |bytes    packets
    lo: 4711      12    0    0    0     0          0         0 4711 12 0 0
 tunl0: 0 0 0 0 0 0 0 0 0 0 0 0
"""


def test_a_tunnel_that_is_down_leads_nowhere():
    """A fresh network namespace may hold some."""
    assert carried(TABLE, {"lo": 9, "tunl0": 0x80}.__getitem__) == 4711


def test_another_interface_makes_the_count_worthless():
    """Then others may use the loopback as well; so too where it is down."""
    assert carried(TABLE, {"lo": 9, "tunl0": 1}.__getitem__) is None
    assert carried(TABLE, {"lo": 8, "tunl0": 0}.__getitem__) is None


def test_it_is_what_was_sent():
    """On a machine with other interfaces nothing is told."""
    before = carried_num_bytes()
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as connection,
    ):
        connection.sendall(bytes(10_000))
        after = carried_num_bytes()
    assert (before is None) == (after is None)
    assert before is None or after is None or after - before > 10_000

"""What torch reads of init_process_group is known, and no store is opened for it."""

import pytest

pytest.importorskip("torch")

from grader.rank.torch_backend import Rendezvous, asked_for

TOLD = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "node0", "MASTER_PORT": "29500"}


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ((None, -1, -1), Rendezvous(1, 2, "node0", 29500)),
        (("env://", 0, 4), Rendezvous(0, 4, "node0", 29500)),
        (("tcp://10.0.0.1:6585", 0, 4), Rendezvous(0, 4, "10.0.0.1", 6585)),
        (("tcp://[::1]:1?rank=3&world_size=4", -1, -1), Rendezvous(3, 4, "::1", 1)),
        (("file:///nowhere/meet", 0, 2), Rendezvous(0, 2)),
    ],
)
def test_every_way_to_say_it_is_read(monkeypatch, arguments, found):
    """By the environment, a URL, or both; nobody listens at these addresses."""
    for name, value in TOLD.items():
        monkeypatch.setenv(name, value)
    assert asked_for(*arguments) == found


@pytest.mark.parametrize(
    ("init_method", "message"),
    [
        (None, "environment variable RANK expected, but not set"),
        ("tcp://10.0.0.1", "tcp:// rendezvous: port number missing"),
        ("tcp://10.0.0.1:6585", "rank parameter missing"),
        ("tcp://10.0.0.1:port", "Port could not be cast to integer"),
    ],
)
def test_torch_says_what_is_missing(monkeypatch, init_method, message):
    """In its own words, which other pages explain."""
    for name in TOLD:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match=message):
        asked_for(init_method, -1, -1)


@pytest.mark.parametrize(
    ("asked", "is_found"),
    [
        (Rendezvous(1, 2, "10.0.0.1", 1), True),
        (Rendezvous(1, 2, "localhost", 1), False),
        (Rendezvous(0, 2, "localhost", 1), True),
        (Rendezvous(0, 2, "10.0.0.2", 1), False),
        (Rendezvous(1, 2, "10.0.0.1", 0), False),
        (Rendezvous(1, 2), False),
    ],
)
def test_a_node_finds_rank_0_at_its_address_alone(asked, is_found):
    """Rank 0 itself may call its machine by the name that every machine has."""
    if is_found:
        asked.assert_leads_to("10.0.0.1")
        return
    with pytest.raises(RuntimeError, match=r"looks for rank 0 .*, not at 10\.0\.0\.1:PORT"):
        asked.assert_leads_to("10.0.0.1")

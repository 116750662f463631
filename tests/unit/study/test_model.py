"""Modelled time and the two laws, against numbers worked out by hand."""

import pytest

from grader.study.model import (
    Network,
    amdahl_fraction,
    amdahl_speed_up,
    gustafson_fraction,
    gustafson_speed_up,
)

NETWORK = Network(latency_s=1.0, num_bytes_per_s=10.0)


def test_a_message_takes_latency_and_volume():
    assert NETWORK.message_s(20) == 3.0


def test_all_reduces_on_four_ranks():
    """Of 40 bytes: a ring sends 6 times 10, the naive way 3 times 40, a star 6 times 40."""
    assert NETWORK.ring_s(4, 40) == 6 * 2.0
    assert NETWORK.naive_s(4, 40) == 3 * 5.0
    assert NETWORK.star_s(4, 40) == 6 * 5.0


def test_a_collective_takes_the_cheaper_of_two_ways():
    """Recursive doubling for short arrays, Rabenseifner's for long ones."""
    assert NETWORK.collective_s(4, 0) == 2.0
    assert NETWORK.collective_s(4, 40) == pytest.approx(4 + 6)
    assert NETWORK.collective_s(5, 0) == 3.0


@pytest.mark.parametrize("ranks", [3, 4, 8, 100])
def test_the_ring_and_the_naive_way_take_equally_long_where_they_cross(ranks):
    crossing = NETWORK.crossing_num_bytes(ranks)
    assert NETWORK.ring_s(ranks, crossing) == pytest.approx(NETWORK.naive_s(ranks, crossing))
    assert NETWORK.ring_s(ranks, 2 * crossing) < NETWORK.naive_s(ranks, 2 * crossing)
    assert NETWORK.ring_s(ranks, crossing / 2) > NETWORK.naive_s(ranks, crossing / 2)


def test_two_ranks_never_cross():
    assert NETWORK.crossing_num_bytes(2) is None
    assert NETWORK.ring_s(2, 1e9) > NETWORK.naive_s(2, 1e9)


def test_what_captions_say_of_the_network():
    assert Network().describe().startswith("50 us latency, 10 Gbit/s, one core per rank")
    assert "Hockney 1994" in Network().describe()


@pytest.mark.parametrize("fraction", [0.0, 0.05, 0.3, 1.0])
def test_a_fit_finds_the_serial_fraction_of_amdahls_law(fraction):
    ranks = [1, 2, 4, 8]
    times_s = [3.0 / amdahl_speed_up(n, fraction) for n in ranks]
    assert amdahl_fraction(ranks, times_s, 3.0) == pytest.approx(fraction)


@pytest.mark.parametrize("fraction", [0.0, 0.05, 0.3, 1.0])
def test_a_fit_finds_the_serial_fraction_of_gustafsons_law(fraction):
    ranks = [1, 2, 4, 8]
    found = [gustafson_speed_up(n, fraction) for n in ranks]
    assert gustafson_fraction(ranks, found) == pytest.approx(fraction)


def test_what_no_law_explains_is_kept_within_it():
    """Slower than one rank, and faster than n times: all serial, and nothing."""
    assert amdahl_fraction([2, 4], [9.0, 9.0], 1.0) == 1.0
    assert amdahl_fraction([2, 4], [0.1, 0.1], 1.0) == 0.0
    assert gustafson_fraction([2, 4], [0.1, 0.1]) == 1.0


def test_a_fit_takes_more_than_one_rank():
    with pytest.raises(ValueError, match="at least one value measured on 2"):
        amdahl_fraction([1], [1.0], 1.0)
    with pytest.raises(ValueError, match="at least one value measured on 2"):
        gustafson_fraction([1], [1.0])

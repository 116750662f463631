"""Modelled time: messages on a stated network, and the laws of Amdahl and Gustafson.

A message of m bytes takes latency_s + m / num_bytes_per_s: the alpha-beta model of Hockney (1994).
The costs of collectives are those of Thakur, Rabenseifner and Gropp (2005) and of Patarasuk and
Yuan (2009), without the time of the additions. Each process sends and receives one message at a
time.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

SOURCE = "alpha-beta model, Hockney 1994; collectives as in Thakur et al. 2005"


@dataclass(frozen=True)
class Network:
    """A network of equal links; by default Ethernet of 10 Gbit/s."""

    latency_s: float = 50e-6
    num_bytes_per_s: float = 1.25e9

    def describe(self) -> str:
        """Return latency, bandwidth and source, as captions say them."""
        gbit = self.num_bytes_per_s * 8 / 1e9
        return f"{self.latency_s * 1e6:g} us latency, {gbit:g} Gbit/s, one core per rank ({SOURCE})"

    def message_s(self, num_bytes: float) -> float:
        """Return the time of one message."""
        return self.latency_s + num_bytes / self.num_bytes_per_s

    def ring_s(self, ranks: int, num_bytes: float) -> float:
        """Return the time of a ring all-reduce: 2 (n - 1) steps with an n-th of the array each."""
        return 2 * (ranks - 1) * self.message_s(num_bytes / ranks)

    def naive_s(self, ranks: int, num_bytes: float) -> float:
        """Return the time of an all-reduce in which each process sends its array to every other."""
        return (ranks - 1) * self.message_s(num_bytes)

    def collective_s(self, ranks: int, num_bytes: float) -> float:
        """Return the time of a library's all-reduce: recursive doubling or Rabenseifner's."""
        steps = math.ceil(math.log2(ranks))
        doubling_s = steps * self.message_s(num_bytes)
        volume = 2 * (ranks - 1) / ranks * num_bytes
        return min(doubling_s, 2 * steps * self.latency_s + volume / self.num_bytes_per_s)

    def star_s(self, ranks: int, num_bytes: float) -> float:
        """Return the time of a mean that one process collects and sends back, one by one."""
        return 2 * (ranks - 1) * self.message_s(num_bytes)

    def crossing_num_bytes(self, ranks: int) -> float | None:
        """Return the size from which the ring is faster than the naive way; None for never.

        (n - 1)(a + S/b) = 2 (n - 1)(a + S/(n b)) gives S = a b n / (n - 2).
        """
        if ranks <= 2:
            return None
        return self.latency_s * self.num_bytes_per_s * ranks / (ranks - 2)


def amdahl_fraction(ranks: Sequence[int], times_s: Sequence[float], serial_s: float) -> float:
    """Return the serial fraction s that fits T(n) = T(1) (s + (1 - s) / n) best, from 0 to 1.

    Least squares, which has a closed form. serial_s: T(1). Raises ValueError without any point of
    more than one rank.
    """
    pairs = [
        (1 - 1 / n, time_s / serial_s - 1 / n)
        for n, time_s in zip(ranks, times_s, strict=True)
        if n > 1
    ]
    return _slope(pairs)


def amdahl_speed_up(ranks: int, serial_fraction: float) -> float:
    """Return the speed-up of these ranks on work of one size (Amdahl 1967)."""
    return 1 / (serial_fraction + (1 - serial_fraction) / ranks)


def gustafson_fraction(ranks: Sequence[int], scaled_speed_ups: Sequence[float]) -> float:
    """Return the serial fraction s that fits S(n) = n - s (n - 1) best, from 0 to 1.

    scaled_speed_ups: n T(1) / T(n), where n ranks have n times the work. Raises ValueError without
    any point of more than one rank.
    """
    pairs = [(n - 1, n - found) for n, found in zip(ranks, scaled_speed_ups, strict=True) if n > 1]
    return _slope(pairs)


def _slope(pairs: Sequence[tuple[float, float]]) -> float:
    if not pairs:
        raise ValueError("a fit needs at least one value measured on 2 or more ranks")
    found = sum(x * y for x, y in pairs) / sum(x * x for x, _ in pairs)
    return min(1.0, max(0.0, found))


def gustafson_speed_up(ranks: int, serial_fraction: float) -> float:
    """Return the speed-up of n ranks on n times the work (Gustafson 1988)."""
    return ranks - serial_fraction * (ranks - 1)

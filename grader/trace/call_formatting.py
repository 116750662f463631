"""How ranks, calls and places are written in what a student reads."""

from collections.abc import Iterable, Sequence

from grader.trace.calls import ANY_SOURCE, ANY_TAG, NO_PEER, PROC_NULL, Call
from grader.trace.functions import COLLECTIVES, ROOTED_COLLECTIVES

_MAX_NAME_CHARS = 60
_MANY_RANKS = 6
_TO_ROOT = frozenset({"gather", "reduce"})
"""Operations of torch.distributed whose root is a destination."""


def ranks_text(ranks: Iterable[int]) -> str:
    """Return `rank 2`, `ranks 0, 1, and 3`, or for many `ranks 0-7, 9, and 12-15`."""
    ordered = sorted(set(ranks))
    noun = "rank" if len(ordered) == 1 else "ranks"
    short = len(ordered) <= _MANY_RANKS
    return f"{noun} {listed(map(str, ordered) if short else _runs(ordered))}"


def ranks_have(ranks: Iterable[int]) -> str:
    """Return `rank 2 has`, or `ranks 0, 1, and 3 have`."""
    known = set(ranks)
    return f"{ranks_text(known)} {'has' if len(known) == 1 else 'have'}"


def listed(items: Iterable[str]) -> str:
    """Return `a`, `a and b`, or `a, b, and c`."""
    *most, last = items
    return f"{', '.join(most)}{',' * (len(most) > 1)} and {last}" if most else last


def _runs(ordered: Sequence[int]) -> list[str]:
    runs: list[list[int]] = []
    for rank in ordered:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    return [f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]


def name_of(call: Call) -> str:
    """Return the function of a call, or the lower-case call of mpi4py that it was made by.

    What came out of a rank's memory may hold anything.
    """
    return call.made_by or _printable(call.function) or "a call without a name"


def place_of(call: Call) -> str:
    """Return `ring.py:31`, or nothing when the line is not known."""
    file = _printable(call.file.rpartition("/")[2])
    return f"{file}:{call.line}" if file else ""


def at(call: Call) -> str:
    """Return ` at ring.py:31`, or nothing when the line is not known."""
    place = place_of(call)
    return f" at {place}" if place else ""


def signature_of(call: Call) -> str:
    """Return a call with what its partner must fit, in the words of the library it belongs to.

    `Recv(source=3, tag=0)` and `Bcast(root=0)` of MPI, `recv(src=3, tag=0)` of torch.distributed;
    `comm.allreduce (a Recv from rank 3)` where mpi4py makes the call.
    """
    name = name_of(call)
    if call.made_by:
        return f"{name} ({_made_call(call)})"
    sends = call.is_send or call.function in _TO_ROOT
    if call.function in COLLECTIVES:
        rooted = call.function in ROOTED_COLLECTIVES and call.peer >= 0
        role = ("dst" if sends else "src") if call.function.islower() else "root"
        return f"{name}({role}={call.peer})" if rooted else name
    if call.peer == NO_PEER:
        return name
    role = "dest" if sends else "source"
    if call.function.islower():
        role = "dst" if sends else "src"
    return f"{name}({role}={_peer_text(call.peer)}, tag={tag_text(call.tag)})"


def _made_call(call: Call) -> str:
    """Return what a lower-case call does by this one, which has no such arguments itself."""
    function = _printable(call.function)
    if call.function in COLLECTIVES or call.peer == NO_PEER:
        return function
    link = "to" if call.is_send else "from"
    peer = f"rank {call.peer}" if call.peer >= 0 else _peer_text(call.peer)
    return f"{function} {link} {peer}"


def tag_text(tag: int) -> str:
    """Return the tag as a student writes it."""
    return "ANY_TAG" if tag == ANY_TAG else str(tag)


def _peer_text(peer: int) -> str:
    return {ANY_SOURCE: "ANY_SOURCE", PROC_NULL: "PROC_NULL"}.get(peer, str(peer))


def _printable(text: str) -> str:
    shown = "".join(c if c.isprintable() else "?" for c in text[:_MAX_NAME_CHARS])
    return shown.strip()


def size_text(call: Call) -> str:
    """Return `104 bytes (13 elements of 8 bytes)`."""
    whole = _counted(call.num_bytes, "byte")
    if call.num_elements <= 0 or call.num_bytes <= 0:
        return whole
    each = _counted(call.num_bytes // call.num_elements, "byte")
    return f"{whole} ({_counted(call.num_elements, 'element')} of {each})"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"

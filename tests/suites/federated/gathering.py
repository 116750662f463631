"""How much each rank put into messages and collectives, and who talks with whom."""

from collections.abc import Collection, Mapping
from itertools import permutations

from grader.api import (
    Call,
    Finding,
    RuleViolation,
    Trace,
    assert_not_truncated,
    bytes_sent,
    call_name,
    call_place,
    call_site,
    found,
    functions,
    messages,
    reduction_communicators,
)

from . import lenet

SERVER = 0
_SLACK = 1.5
_SHARE_COMPRESSED = 0.7
"""Of the bytes of a model, that it has at least when it is compressed."""
_FROM_SERVER = (
    "only the server may load and split the data; how do the other ranks get their data and model?"
)
_ONLY_TELL = {"Barrier", "Ibarrier", "Barrier_init"}
_ONLY_ROOT_GIVES = {
    *("Bcast", "Scatter", "Scatterv"),
    *("Ibcast", "Iscatter", "Iscatterv"),
    *("Bcast_init", "Scatter_init", "Scatterv_init"),
}
_ONLY_ROOT_TAKES = {"Gather", "Gatherv", "Igather", "Igatherv"}
_STARTS = {"Start", "Startall"}
_BY_PIECES = {
    *("Reduce_scatter_block", "Ireduce_scatter_block", "Reduce_scatter_block_init"),
    *("Alltoall", "Ialltoall", "Alltoall_init"),
}


def assert_gives(trace: Trace, ranks: Collection[int], num_times: int, *, what: str) -> None:
    """Assert that each of these ranks gives others as many bytes as num_times whole models have.

    What it sends counts, and what it puts into collectives. Nobody knows how much less compressed
    gradients are: they have many zeros.
    Raises RuleViolation with the numbers of the first rank that gives less, NotProven.
    """
    assert_not_truncated(trace)
    for rank in ranks:
        needed = num_times * lenet.MODEL_NUM_BYTES
        given = given_num_bytes(trace, rank)
        if given < needed and not _compresses(trace, rank):
            text = f"Rank {rank} sent the other ranks too little data for the {what}."
            helps = "how many numbers does the rank send each time, and of what type?"
            facts = {"rank": rank, "num_bytes": given, "needed_num_bytes": needed}
            reason = found("traffic.too_few_bytes", text, help=helps, **facts)
            raise RuleViolation(reason, _num_bytes(given, num_times))


def assert_gives_once(trace: Trace, ranks: Collection[int], num_times: int, *, what: str) -> None:
    """Assert that each of these ranks gives others num_times whole models and little besides.

    Half as much again is left for losses, pickle headers and a last model. Not for ranks that hand
    out data: a pickled slice of a tensor carries the whole tensor. What a lower-case reduce makes
    a rank pass on for others is mpi4py's affair, and does not count.
    Raises RuleViolation with the numbers, apart, of the first rank that gives more, NotProven.
    """
    assert_not_truncated(trace)
    needed = num_times * lenet.MODEL_NUM_BYTES
    for rank in ranks:
        given = given_num_bytes(trace, rank) - _relayed_num_bytes(trace, rank)
        if given > _SLACK * needed:
            text = f"Rank {rank} sent the other ranks too much data for the {what}."
            helps = "each gradient or model must be sent once, as float32; what else is sent?"
            facts = {"rank": rank, "num_bytes": given, "needed_num_bytes": needed}
            reason = found("traffic.too_many_bytes", text, help=helps, **facts)
            raise RuleViolation(reason, _num_bytes(given, num_times))


def _compresses(trace: Trace, rank: int) -> bool:
    """Return whether a rank compresses anything, or sends numbers as text."""
    return bool((trace.ranks[rank].calls.column("sampled_num_bytes") < 0).any())


def _num_bytes(given: int, num_models: int) -> Finding:
    return found(
        "traffic.num_bytes",
        f"The rank sent {given:,} bytes; {num_models} x {lenet.NUM_PARAMETERS:,} numbers of "
        f"{lenet.FLOAT32_NUM_BYTES} bytes take {num_models * lenet.MODEL_NUM_BYTES:,} bytes.",
    )


def assert_server_gives(
    trace: Trace, num_examples: Mapping[int, int], num_models: int, *, when: str
) -> None:
    """Assert that each of these ranks gets its images and num_models models from the server.

    num_examples: the images that each rank is to get. when: `3 steps`, with one model in each.
    Raises RuleViolation with the numbers of the first rank that gets less, NotProven.
    """
    assert_not_truncated(trace)
    models = num_models * lenet.MODEL_NUM_BYTES
    for rank, number in num_examples.items():
        images = number * lenet.IMAGE_NUM_BYTES
        given = _num_bytes_from_server(trace, rank)
        is_less = _compresses(trace, SERVER)
        # Of images, little is left when they are compressed.
        if given < (_SHARE_COMPRESSED * models if is_less else models + images):
            gave = f"The server, rank {SERVER}, sent rank {rank}"
            what = "the model" if num_models == 1 else "the models"
            images_and = "its images and " if number else ""
            text = f"{gave} too little data for {images_and}{what} of {when}."
            facts = {"rank": rank, "num_bytes": given, "needed_num_bytes": models + images}
            take = f"{what} {'takes' if num_models == 1 else 'take'}"
            more = f", and the {number} images that rank {rank} trains on take {images:,}"
            numbers = f"The server sent {given:,} bytes; {take} {models:,}{more if number else ''}."
            raise RuleViolation(
                found("server.gives_too_little", text, help=_FROM_SERVER, **facts),
                found("server.num_bytes", numbers),
            )


def assert_star(trace: Trace) -> None:
    """Assert that the server has a hand in all traffic: no client talks with another.

    Raises RuleViolation with the first call that is otherwise, NotProven.
    """
    assert_not_truncated(trace)
    for rank, seen in enumerate(trace.ranks):
        own = reduction_communicators(seen.calls)
        for other in range(len(trace.ranks)):
            if SERVER in (rank, other):
                continue
            for call in messages(trace, rank, other):
                if call.communicator not in own:
                    raise RuleViolation.of(
                        "server.bypassed_by_message",
                        f"Rank {rank} sent {call.num_bytes:,} "
                        f"byte{'' if call.num_bytes == 1 else 's'} to rank {other} with "
                        f"{call_name(call)}{call_site(call)}. Workers and clients must "
                        f"exchange data only with the server, rank {SERVER}.",
                        rank=rank,
                        other=other,
                        call=call_name(call),
                        place=call_place(call),
                    )
        for call in seen.calls:
            if call.communicator in own or call.function not in functions.COLLECTIVES:
                continue
            name = call.function
            rooted = name in functions.ROOTED_COLLECTIVES or name.startswith("Gather")
            if name in _ONLY_TELL or (rooted and call.peer == SERVER):
                continue
            if call.num_bytes >= lenet.MODEL_NUM_BYTES // 100:
                raise RuleViolation.of(
                    "server.bypassed_by_collective",
                    f"Rank {rank} called {call_name(call)}{call_site(call)} with "
                    f"{call.num_bytes:,} bytes. This collective bypasses the server, "
                    f"rank {SERVER}.",
                    help="workers and clients must exchange data only with the server",
                    rank=rank,
                    call=call_name(call),
                    place=call_place(call),
                )


def averaging_root(trace: Trace, num_times: int) -> int | None:
    """Return a root that gathers all others' gradients, and alone gives back what it makes of them.

    num_times: how many models' worth it gets of each. A root that passes on all that it gathers,
    so that every rank averages by itself, is not meant, nor what is summed on its way. Messages
    tell a root only where there are others that send each other none.
    """
    ranks, least = range(len(trace.ranks)), num_times * lenet.MODEL_NUM_BYTES / 2
    sent = {pair: _sent_num_bytes(trace, *pair) for pair in permutations(ranks, 2)}
    for root in ranks:
        others = [rank for rank in ranks if rank != root]
        beside = sum(sent[pair] for pair in permutations(others, 2))
        is_star = len(others) > 1 and beside < least
        gathered = [
            sum(call.num_bytes for call in trace.ranks[rank].calls if _is_gathered_at(root, call))
            + is_star * sent[rank, root]
            for rank in others
        ]
        handed_out = sum(
            call.num_bytes
            for call in trace.ranks[root].calls
            if call.function in _ONLY_ROOT_GIVES and call.peer == root
        )
        handed_out += is_star * min((sent[root, rank] for rank in others), default=0)
        if others and min(gathered) >= least <= handed_out < 2 * _SLACK * least:
            return root
    return None


def _sent_num_bytes(trace: Trace, rank: int, other: int) -> int:
    """Return how many bytes a rank sent another, but for what makes up a lower-case reduce."""
    own = reduction_communicators(trace.ranks[rank].calls)
    sent = messages(trace, rank, other)
    return sum(call.num_bytes for call in sent if call.communicator not in own)


def _is_gathered_at(root: int, call: Call) -> bool:
    is_right = call.num_bytes > 0 and not call.error
    return is_right and call.function in _ONLY_ROOT_TAKES and call.peer == root


def given_num_bytes(trace: Trace, rank: int) -> int:
    """Return how many bytes a rank sent, or put into collectives."""
    given = bytes_sent(trace)[rank]
    prepared: dict[tuple[int, ...], int] = {}
    for call in trace.ranks[rank].calls:
        if call.num_bytes <= 0 or call.error:
            continue
        # What a start does is known by the call that has prepared it.
        meant = (call.communicator, call.peer, call.tag, call.num_bytes)
        if prepares_only(call):
            prepared[meant] = _num_bytes_given_to_collective(call, rank)
        elif call.function in _STARTS and not (call.is_send or call.is_receive):
            given += prepared.get(meant, 0)
        else:
            given += _num_bytes_given_to_collective(call, rank)
    return given


def prepares_only(call: Call) -> bool:
    """Return whether a call makes a persistent request, and does not start it."""
    return call.function.endswith("_init") and not call.creates_request


def _num_bytes_given_to_collective(call: Call, rank: int) -> int:
    is_root_only = call.function in _ONLY_ROOT_GIVES and call.peer != rank
    if call.function not in functions.COLLECTIVES or is_root_only:
        return 0
    # Of these a call tells the piece that each rank gets.
    return call.num_bytes * (call.communicator_size if call.function in _BY_PIECES else 1)


def num_bytes_given(call: Call, rank: int) -> int:
    """Return how many bytes a rank sends or gives by a call, which may be a start."""
    if call.error or call.num_bytes <= 0 or prepares_only(call):
        return 0
    is_start = call.function in _STARTS and not call.is_receive
    return (
        call.num_bytes if call.is_send or is_start else _num_bytes_given_to_collective(call, rank)
    )


def reaching_num_bytes(call: Call, rank: int) -> int:
    """Return how many bytes of a rank reach others by a collective that takes one piece of it."""
    if call.function not in functions.ALTERABLE_COLLECTIVES or call.error or call.num_bytes <= 0:
        return 0
    is_root = call.peer == rank
    if call.function in _ONLY_ROOT_GIVES:
        return call.num_bytes * (call.communicator_size - 1) if is_root else 0
    return 0 if is_root and call.function in _ONLY_ROOT_TAKES else call.num_bytes


def _num_bytes_from_server(trace: Trace, rank: int) -> int:
    """Return how many bytes a rank gets in messages and rooted collectives of the server."""
    server = trace.ranks[SERVER].calls
    sent = messages(trace, SERVER, rank)
    own = reduction_communicators(server)
    given = sum(call.num_bytes for call in sent if call.communicator not in own)
    # Of a scatter, every rank knows its own piece.
    own = reduction_communicators(trace.ranks[rank].calls)
    return given + sum(
        max(call.num_bytes, 0)
        for call in trace.ranks[rank].calls
        if call.function in _ONLY_ROOT_GIVES
        and call.peer == SERVER
        and call.communicator not in own
        and not call.error
    )


def _relayed_num_bytes(trace: Trace, rank: int) -> int:
    """Return how many bytes a rank sent within lower-case calls such as reduce."""
    own = reduction_communicators(trace.ranks[rank].calls)
    others = [other for other in range(len(trace.ranks)) if other != rank]
    sent = [call for other in others for call in messages(trace, rank, other)]
    return sum(call.num_bytes for call in sent if call.communicator in own)

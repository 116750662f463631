"""Valid inputs, and what a hostile hand makes of them: for hypothesis to draw from."""

from collections.abc import Sequence

from hypothesis import strategies as st

_MAX_EDITS = 8
_MAX_PIECE_NUM_BYTES = 24
_TELLING = [
    b"\0",
    b"\xff",
    b"\0\0\0\0",
    b"\xff\xff\xff\xff",
    b"\xff" * 8,
    b"\x80",
    b"/",
    b"..",
    b"\n",
]


def mutated(seeds: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Return a strategy of bytes: anything at all, or a seed overwritten, cut, doubled, spliced."""
    return st.one_of(
        st.sampled_from(list(seeds)),
        st.builds(
            _edited, st.sampled_from(list(seeds)), st.lists(_edits(seeds), max_size=_MAX_EDITS)
        ),
        st.binary(max_size=512),
    )


def _edits(seeds: Sequence[bytes]) -> st.SearchStrategy[tuple[str, int, int, bytes]]:
    piece = st.one_of(
        st.sampled_from(_TELLING),
        st.binary(max_size=_MAX_PIECE_NUM_BYTES),
        st.sampled_from(list(seeds)),
    )
    kind = st.sampled_from(["overwrite", "insert", "remove", "double"])
    return st.tuples(kind, st.integers(0, 1 << 20), st.integers(1, 1 << 10), piece)


def _edited(seed: bytes, edits: Sequence[tuple[str, int, int, bytes]]) -> bytes:
    data = bytearray(seed)
    for kind, place, length, piece in edits:
        start = place % (len(data) + 1)
        if kind == "overwrite":
            data[start : start + len(piece)] = piece
        elif kind == "insert":
            data[start:start] = piece
        elif kind == "remove":
            del data[start : start + length]
        else:
            data[start:start] = data[start : start + length]
    return bytes(data)

"""Tars of hostile make, packed and as they are, also such that read two ways."""

import gzip
import io
import lzma
import struct
import tarfile
from pathlib import Path

from red_team.archives.contents import (
    END,
    END_NUM_BYTES,
    FILE,
    SEEN,
    STOLEN,
    WRONG,
    tar_bytes,
    tar_member,
    write_tar,
    zip_bytes,
)


def tar_with_links(place: Path, canary: Path) -> Path:
    """Hold symbolic and hard links to the model solution and to a canary."""
    return write_tar(
        place,
        [
            tar_member(FILE, tarfile.SYMTYPE, link=STOLEN),
            tar_member("utils.py", tarfile.LNKTYPE, link=str(canary)),
            tar_member("up", tarfile.SYMTYPE, link="/"),
            tar_member(f"up{STOLEN}", tarfile.REGTYPE),
        ],
    )


def tar_that_leads_out(place: Path, canary: Path) -> Path:
    """Name members by paths that climb out or are absolute."""
    return write_tar(
        place, [tar_member(name) for name in ("../evil.py", "/tmp/evil.py", "a/../../b.py", FILE)]
    )


def tar_with_devices(place: Path, canary: Path) -> Path:
    """Hold pipes and devices, also under the name that is asked for."""
    return write_tar(
        place,
        [
            tar_member(FILE, tarfile.FIFOTYPE),
            tar_member("zero.py", tarfile.CHRTYPE),
            tar_member("disk.py", tarfile.BLKTYPE),
            tar_member("utils.py", tarfile.CONTTYPE),
        ],
    )


def tar_that_is_sparse(place: Path, canary: Path) -> Path:
    """Announce a file of eight terabytes, by the header and by a list of holes."""
    sparse = tar_member(FILE)
    sparse.pax_headers = {
        "GNU.sparse.realsize": str(8 << 40),
        "GNU.sparse.map": f"{8 << 40},0",
        "GNU.sparse.name": FILE,
    }
    return write_tar(place, [sparse])


def tar_with_huge_headers(place: Path, canary: Path) -> Path:
    """Hold extended headers of megabytes, and a name of a megabyte."""
    large = tar_member(FILE)
    large.pax_headers = {"comment": "x" * (8 << 20), "path": "d/" * 500_000 + "x.py"}
    return write_tar(place, [large])


def tar_packed_ten_thousandfold(place: Path, canary: Path) -> Path:
    """Unpack, from gzip, to two gigabytes of the file that is asked for."""
    with tarfile.open(place, "w:gz", compresslevel=9) as archive:
        member = tarfile.TarInfo(FILE)
        member.size = 1 << 31
        archive.addfile(member, _Zeros(member.size))
    return place


def gzip_of_many_members(place: Path, canary: Path) -> Path:
    """Pack a tar in three thousand members, block by block."""
    tar = tar_bytes((FILE, WRONG), ("a.py", bytes(1 << 20)))
    pieces = [tar[at : at + 512] for at in range(0, len(tar), 512)]
    place.write_bytes(b"".join(map(gzip.compress, pieces)))
    return place


def tar_before_a_zip(place: Path, canary: Path) -> Path:
    """Begin as a tar that is graded, and end as a zip that a person sees."""
    place.write_bytes(tar_bytes((FILE, WRONG)) + zip_bytes((FILE, SEEN)))
    return place


def tar_whose_last_file_is_a_zip_to_its_end(place: Path, canary: Path) -> Path:
    """Let the comment of a zip, the last file of a tar, reach to the end of the tar."""
    shown = zip_bytes((FILE, SEEN))
    tar = tar_bytes((FILE, WRONG), ("data.bin", shown))
    num_bytes_behind = len(tar) - tar.rindex(END) - END_NUM_BYTES
    place.write_bytes(tar.replace(shown, shown[:-2] + struct.pack("<H", num_bytes_behind)))
    return place


def tar_that_ends_with_a_zip(place: Path, canary: Path) -> Path:
    """Leave out the blocks of zeros after a tar, so that its last byte is the last of a zip."""
    num_bytes = len(zip_bytes(("notes.txt", b""), (FILE, SEEN)))
    notes = bytes(-num_bytes % tarfile.BLOCKSIZE)
    shown = zip_bytes(("notes.txt", notes), (FILE, SEEN))
    tar = tar_bytes((FILE, WRONG), ("data.bin", shown))
    place.write_bytes(tar[: tar.rindex(shown) + len(shown)])
    return place


def tar_packed_before_a_zip(place: Path, canary: Path) -> Path:
    """Put a zip behind the packed bytes of a tar, where unpackers end."""
    place.write_bytes(lzma.compress(tar_bytes((FILE, WRONG))) + zip_bytes((FILE, SEEN)))
    return place


def gzip_with_bytes_after_it(place: Path, canary: Path) -> Path:
    """Put a zip, which has no gzip's beginning, after the last member."""
    place.write_bytes(gzip.compress(tar_bytes((FILE, WRONG))) + zip_bytes((FILE, SEEN)))
    return place


class _Zeros(io.RawIOBase):
    """As many zeros as wanted, made while they are read."""

    def __init__(self, num_bytes: int) -> None:
        self._left = num_bytes

    def read(self, num_bytes: int = -1) -> bytes:
        taken = self._left if num_bytes < 0 else min(num_bytes, self._left)
        self._left -= taken
        return bytes(taken)

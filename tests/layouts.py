"""Hand-ins as people and platforms arrange them, and which file of each is graded.

`make docs` writes a page of them.
"""

import io
import json
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NAIVE, RING = "my_naive_allreduce.py", "my_ring_allreduce.py"
_REFERENCE, _TEMPLATE = ROOT / "reference/mpi_sgd", ROOT / "student_template/mpi_sgd"
NAIVE_DONE, RING_DONE = ((_REFERENCE / name).read_bytes() for name in (NAIVE, RING))
NAIVE_TODO, RING_TODO = ((_TEMPLATE / name).read_bytes() for name in (NAIVE, RING))
RING_OLD = b"raise SystemExit('an old version')\n"


def zipped(files: Mapping[str, bytes], *, year: int = 2026) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (year, 1, 1, 0, 0, 0)), content)
    return packed.getvalue()


def tarred(files: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def notebook(files: Mapping[str, bytes]) -> bytes:
    cells = [
        {"cell_type": "code", "source": f"%%writefile {name}\n{content.decode()}"}
        for name, content in files.items()
    ]
    return json.dumps({"cells": cells}).encode()


@dataclass(frozen=True)
class Layout:
    """One way to arrange the ring, or the ring and the naive all-reduce."""

    name: str
    files: Mapping[str, bytes]
    """By path in the folder that is handed in."""
    ring: str = ""
    """The path of what is graded as the ring; empty where nothing is."""
    naive: str = ""
    points: float = field(default=25, kw_only=True)
    """Of the ring and the naive all-reduce together."""


LAYOUTS = (
    Layout("the files side by side", {RING: RING_DONE, NAIVE: NAIVE_DONE}, RING, NAIVE, points=40),
    Layout("one folder down", {f"hw3/{RING}": RING_DONE}, f"hw3/{RING}"),
    Layout("three folders down", {f"anna/hw3/code/{RING}": RING_DONE}, f"anna/hw3/code/{RING}"),
    Layout(
        "a folder for each part",
        {f"ring/{RING}": RING_DONE, f"naive/{NAIVE}": NAIVE_DONE},
        f"ring/{RING}",
        f"naive/{NAIVE}",
        points=40,
    ),
    Layout(
        "folders with helpers of one name",
        {
            f"ring/{RING}": b"from sums import ringallreduce\n",
            "ring/sums.py": RING_DONE,
            f"naive/{NAIVE}": b"from sums import allreduce\n",
            "naive/sums.py": NAIVE_DONE,
        },
        f"ring/{RING}",
        f"naive/{NAIVE}",
        points=40,
    ),
    Layout(
        "a helper in a folder beside",
        {f"ring/{RING}": b"from common.sums import ringallreduce\n", "common/sums.py": RING_DONE},
        f"ring/{RING}",
    ),
    Layout("a zip", {"hw3.zip": zipped({RING: RING_DONE})}, f"hw3.zip/{RING}"),
    Layout("a tar", {"hw3.tar.gz": tarred({RING: RING_DONE})}, f"hw3.tar.gz/{RING}"),
    Layout(
        "a repository's zip",
        {"hw3-main.zip": zipped({f"hw3-main/src/{RING}": RING_DONE, "hw3-main/README.md": b"x"})},
        f"hw3-main.zip/hw3-main/src/{RING}",
    ),
    Layout(
        "a zip beside a report",
        {"code.zip": zipped({RING: RING_DONE}), "report.pdf": b"%PDF"},
        f"code.zip/{RING}",
    ),
    Layout(
        "a zip of an old version beside the files",
        {RING: RING_DONE, "old.zip": zipped({RING: RING_OLD})},
        RING,
    ),
    Layout(
        "parts in zips of their own",
        {"a.zip": zipped({RING: RING_DONE}), "b.zip": zipped({NAIVE: NAIVE_DONE})},
        f"a.zip/{RING}",
        f"b.zip/{NAIVE}",
        points=40,
    ),
    Layout(
        "two zips, of which one is newer",
        {
            "a.zip": zipped({RING: RING_OLD}, year=2025),
            "b.zip": zipped({RING: RING_DONE}, year=2026),
        },
        f"b.zip/{RING}",
    ),
    Layout(
        "the template beside the work",
        {f"starter/{RING}": RING_TODO, f"work/{RING}": RING_DONE},
        f"work/{RING}",
    ),
    Layout(
        "the work below the template",
        {RING: RING_TODO, f"my/solution/{RING}": RING_DONE},
        f"my/solution/{RING}",
    ),
    Layout(
        "a fuller template",
        {
            f"done/{RING}": RING_DONE,
            f"given/{RING}": RING_TODO,
            f"given/{NAIVE}": NAIVE_TODO,
        },
        f"done/{RING}",
        f"given/{NAIVE}",
    ),
    Layout(
        "the template in a zip beside the work",
        {"template.zip": zipped({RING: RING_TODO}), f"x/y/{RING}": RING_DONE},
        f"x/y/{RING}",
    ),
    Layout(
        "a template with other line ends",
        {RING: RING_TODO.replace(b"\n", b"\r\n"), f"w/{RING}": RING_DONE},
        f"w/{RING}",
    ),
    Layout("only the template", {RING: RING_TODO}, RING, points=0),
    Layout(
        "downloaded twice",
        {RING: RING_TODO, "my_ring_allreduce (1).py": RING_DONE},
        "my_ring_allreduce (1).py",
    ),
    Layout("another attempt", {"my_ring_allreduce-1.py": RING_DONE}, "my_ring_allreduce-1.py"),
    Layout(
        "named by a platform",
        {"leeann_late_12345_67890_my_ring_allreduce.py": RING_DONE},
        "leeann_late_12345_67890_my_ring_allreduce.py",
    ),
    Layout(
        "named for a student",
        {"student2_my_ring_allreduce.py": RING_DONE},
        "student2_my_ring_allreduce.py",
    ),
    Layout("a copy", {"my_ring_allreduce copy.py": RING_DONE}, "my_ring_allreduce copy.py"),
    Layout("called final", {"my_ring_allreduce_final.py": RING_DONE}, "my_ring_allreduce_final.py"),
    Layout("in capitals", {"My_Ring_AllReduce.PY": RING_DONE}, "My_Ring_AllReduce.PY"),
    Layout("with hyphens", {"my-ring-allreduce.py": RING_DONE}, "my-ring-allreduce.py"),
    Layout(
        "two versions, one nearer",
        {RING: RING_DONE, f"old/{RING}": RING_OLD},
        RING,
    ),
    Layout(
        "attempts, of which the last counts",
        {f"attempt1/{RING}": RING_OLD, f"attempt2/{RING}": RING_DONE},
        f"attempt2/{RING}",
    ),
    Layout(
        "an old version in a folder that comes first",
        {f"old/{RING}": RING_OLD, f"solution/{RING}": RING_DONE},
        f"solution/{RING}",
    ),
    Layout(
        "two versions, one with the very name",
        {RING: RING_DONE, "my_ring_allreduce_final.py": RING_OLD},
        RING,
    ),
    Layout("a notebook", {"hw3.ipynb": notebook({RING: RING_DONE})}, f"hw3.ipynb/{RING}"),
    Layout(
        "a notebook of an old version beside the file",
        {"hw3.ipynb": notebook({RING: RING_OLD}), RING: RING_DONE},
        RING,
    ),
    Layout(
        "folders of tools",
        {f".git/{RING}": RING_OLD, f"__pycache__/{RING}": RING_OLD, RING: RING_DONE},
        RING,
    ),
    Layout("another name, found by what it defines", {"solution.py": RING_DONE}, points=0),
    Layout("one letter off", {"my_ring_allreduc.py": RING_DONE}, points=0),
    Layout("nothing of it", {"notes.txt": b"x", "README.md": b"y"}, points=0),
)


def written(layout: Layout, folder: Path) -> Path:
    """Write the files of a layout into a folder; return the folder."""
    for name, content in layout.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def page() -> str:
    """Return the page of the layouts."""
    lines = [
        "# Layouts of a hand-in",
        "",
        "*For students and instructors: a reference.*",
        "",
        "`grade check`, `grade run` and `grade class` find the work wherever it is. If",
        "several files count for one, a file that differs from the template comes first, then the",
        "better name, then the nearer place, then the newer one in an archive. In the report,",
        "`files` says what happened to each file that was handed in ([JSON](../json.md)).",
        "",
        "| layout | handed in | graded as the ring | graded as the naive all-reduce |",
        "|---|---|---|---|",
    ]
    for each in LAYOUTS:
        handed_in = ", ".join(f"`{name}`" for name in each.files)
        graded = (f"`{path}`" if path else "nothing" for path in (each.ring, each.naive))
        lines.append(f"| {each.name} | {handed_in} | {' | '.join(graded)} |")
    return "\n".join(lines) + "\n"

"""Folders of hostile make, and a notebook that makes files: links, pipes, depths and names."""

import os
import socket
from pathlib import Path

from red_team.archives.contents import FILE, STOLEN, WRONG, write_zip


def notebook_that_writes_elsewhere(place: Path, canary: Path) -> Path:
    """Let the cells of a notebook write outside, and nest its JSON deeply."""
    cells = [
        f"%%writefile {name}\\nx = 1"
        for name in ("../evil.py", "/tmp/evil.py", "/opt/grader/grader/cli.py")
    ]
    cells.append(f"%%writefile {FILE}\\n" + WRONG.decode().replace("\n", "\\n"))
    text = ", ".join(f'{{"cell_type": "code", "source": "{cell}"}}' for cell in cells)
    book = f'{{"nbformat": 4, "cells": [{text}]}}'
    return write_zip(
        place,
        [("a.ipynb", book.encode()), ("<img src=x onerror=alert(1)>.ipynb", b'{"a":' * 50_000)],
    )


def tree_with_links(place: Path, canary: Path) -> Path:
    """Link to the model solution, to a canary, to everything, and around in circles."""
    place.mkdir()
    for name, target in (
        (FILE, STOLEN),
        ("utils.py", str(canary)),
        ("all", "/"),
        ("loop", "."),
        ("self", "self"),
    ):
        (place / name).symlink_to(target)
    (place / "mine.py").write_bytes(WRONG)
    return place


def tree_with_pipes(place: Path, canary: Path) -> Path:
    """Put a named pipe in place of the file that is asked for, and a socket and a sparse one."""
    place.mkdir()
    os.mkfifo(place / FILE)
    os.mkfifo(place / "report.pdf")
    with (place / "sparse.py").open("wb") as file:
        file.truncate(1 << 40)
    here = Path.cwd()
    os.chdir(place)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("utils.py")
    os.chdir(here)
    return place


def tree_of_many_files(place: Path, canary: Path) -> Path:
    """Hold twenty thousand files, and folders three hundred levels deep."""
    place.mkdir()
    (place / FILE).write_bytes(WRONG)
    for number in range(20_000):
        (place / f"{number}.py").touch()
    at = place
    for _ in range(300):
        at = at / "deep"
        at.mkdir()
    return place


def tree_with_odd_names(place: Path, canary: Path) -> Path:
    """Use names that are no text, hold line ends, or command whoever prints them."""
    place.mkdir()
    (place / FILE).write_bytes(WRONG)
    for name in (
        b"-rf",
        b"a\n::error::b.py",
        b"\xff\xfe.py",
        b"\x1b[2J.py",
        b"=cmd|x.py",
        b"\xe2\x80\xae.py",
        b"$(id).py",
    ):
        Path(os.fsdecode(os.fsencode(place) + b"/" + name)).touch()
    return place
